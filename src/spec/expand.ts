/**
 * `$(NAME)` in command, args and env values (reference 10.2). One pass: what a variable holds is not expanded again; `$$` is a
 * literal `$`; an unknown name, an open reference and any other `$` stay as they are. Linear in the length of the text.
 */
export function expand(text: string, lookup: (name: string) => string | undefined): string {
  let result = '';
  let copied = 0;
  let dollar = text.indexOf('$');
  while (dollar !== -1) {
    let next = dollar + 1;
    if (text[next] === '$') {
      result += text.slice(copied, next);
      next++;
      copied = next;
    } else if (text[next] === '(') {
      const close = text.indexOf(')', next);
      // Without a closing bracket no later reference can be complete either, but `$$` still counts.
      if (close === -1) return result + text.slice(copied, dollar) + text.slice(dollar).replaceAll('$$', () => '$');
      const value = lookup(text.slice(next + 1, close));
      next = close + 1;
      if (value !== undefined) {
        result += text.slice(copied, dollar) + value;
        copied = next;
      }
    }
    dollar = text.indexOf('$', next);
  }
  return result + text.slice(copied);
}

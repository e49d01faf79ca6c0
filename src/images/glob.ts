/** One place of a pattern: any run of characters, or one character that the test accepts. */
type Token = 'any' | ((character: string) => boolean);

const TOKEN = /\[\^?[^\]]+\]|./gsu;

/**
 * `*`, `?` and `[a-z]`, as in Go's path.Match. Patterns are written by tenants (registry keys of their pull secrets), so the work is
 * bounded by the product of both lengths; a regular expression with as many stars would hold the process up for ever.
 */
export function globMatches(glob: string, text: string): boolean {
  if (glob === text) return true;
  const tokens = parse(glob);
  if (tokens === undefined) return false;
  const characters = [...text];
  let at = 0;
  let token = 0;
  /** Where the last star stands, and how far it has reached: only that one is ever tried again. */
  let star: { readonly token: number; readonly at: number } | undefined;
  while (at < characters.length) {
    const wanted = tokens[token];
    if (wanted === 'any') {
      star = { token, at };
      token++;
    } else if (wanted?.(characters[at] ?? '') === true) {
      token++;
      at++;
    } else if (star !== undefined) {
      star = { token: star.token, at: star.at + 1 };
      token = star.token + 1;
      at = star.at;
    } else return false;
  }
  return tokens.slice(token).every((rest) => rest === 'any');
}

/** Undefined: a bracket that is not closed, or holds no range, matches nothing. */
function parse(glob: string): readonly Token[] | undefined {
  const tokens: Token[] = [];
  for (const [part] of glob.matchAll(TOKEN)) {
    if (part === '*') tokens.push('any');
    else if (part === '?') tokens.push(() => true);
    else if (part === '[') return undefined;
    else if (part.length > 1 && part.startsWith('[')) {
      const set = characterSet(part);
      if (set === undefined) return undefined;
      tokens.push(set);
    } else tokens.push((character) => character === part);
  }
  return tokens;
}

function characterSet(part: string): Token | undefined {
  try {
    const set = new RegExp(`^${part.replaceAll('\\', '\\\\')}$`);
    return (character) => set.test(character);
  } catch {
    return undefined; // a range that runs backwards
  }
}

const SHORT: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '"': '\\"',
  '\\': '\\\\',
};
/** Everything that Go's %q does not print as it is: quotes, backslashes, controls, separators and unassigned code points. */
const ESCAPED = /["\\]|(?! )[\p{C}\p{Z}]/gu;

/** A text in double quotes as Go's `%q` writes it; most of the kubelet's messages quote names this way. */
export function goQuote(text: string): string {
  return `"${text.replace(ESCAPED, escapeOne)}"`;
}

function escapeOne(char: string): string {
  const short = SHORT[char];
  if (short !== undefined) return short;
  const code = char.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${hex(code, 2)}`;
  return code < 0x1_0000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0');
}

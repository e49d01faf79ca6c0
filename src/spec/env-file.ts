/** Go's bufio.Scanner refuses longer lines; what stands before one still counts. */
const MAX_LINE_BYTES = 64 * 1024;

/**
 * Value of a key in an environment file: `KEY='value'` entries, single quotes mandatory, nothing in them is special, and they may
 * span lines (kubelet: util/env ParseEnv, reference 10.4). Empty where there is no such key, or nothing after its `=`. Throws for
 * any other line up to the one that has the key; what follows it is not looked at.
 */
export function readEnvFile(text: string, key: string): string {
  const lines = new Lines(text);
  for (let line = lines.next(); line !== undefined; line = lines.next()) {
    const entry = line.replace(/^[ \t]+/, '');
    if (entry === '' || entry.startsWith('#')) continue;
    const equals = entry.indexOf('=');
    if (equals === -1) throw lines.invalid("missing '='");
    const name = entry.slice(0, equals);
    if (/^[ \t]*$/.test(name)) throw lines.invalid('empty variable name');
    if (/[ \t]$/.test(name)) throw lines.invalid("whitespace before '=' is not allowed");
    const value = entry.slice(equals + 1);
    if (/^[ \t]/.test(value)) {
      // As in a shell, where the name would be set to nothing for the command that follows.
      if (name === key) return '';
      continue;
    }
    if (!value.startsWith("'")) throw lines.invalid('value must be enclosed in single quotes');
    const content = quoted(value.slice(1), lines);
    if (name === key) return content;
  }
  return '';
}

/** Up to the closing quote, which may be on a later line. */
function quoted(start: string, lines: Lines): string {
  let content = '';
  for (let rest: string | undefined = start; rest !== undefined; rest = lines.next()) {
    const close = rest.indexOf("'");
    if (close === -1) {
      content += `${rest}\n`;
      continue;
    }
    if (!/^[ \t]*(#|$)/.test(rest.slice(close + 1))) throw lines.invalid('unexpected content after closing quote');
    return content + rest.slice(0, close);
  }
  throw lines.invalid('unclosed single quote');
}

class Lines {
  readonly #lines: readonly string[];
  #count = 0;

  constructor(text: string) {
    const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
    // The last line needs no end, and an end begins no further one.
    this.#lines = lines.at(-1) === '' ? lines.slice(0, -1) : lines;
  }

  next(): string | undefined {
    const line = this.#lines[this.#count];
    this.#count++;
    if (line !== undefined && Buffer.byteLength(line) >= MAX_LINE_BYTES) throw this.invalid('token too long');
    return line;
  }

  invalid(why: string): Error {
    return new Error(`invalid environment variable format at line ${this.#count}: ${why}`);
  }
}

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readEnvFile } from './env-file.ts';

describe('an environment file', () => {
  it.each([
    ["A='one two'\nB='x'\n", 'A', 'one two'],
    ["A='one two'\nB='x'\n", 'B', 'x'],
    ["A='x'", 'A', 'x'],
    ["# first\n\n  \t\n \tA='x' # why\n", 'A', 'x'],
    ["A='one\ntwo\n'\nB='$(A) \\n \"q\"'\n", 'A', 'one\ntwo\n'],
    ["A='one\ntwo\n'\nB='$(A) \\n \"q\"'\n", 'B', '$(A) \\n "q"'],
    ["A='x'\r\nB='y'\r\n", 'B', 'y'],
    ["A='x'\n", 'B', ''],
    ["A= 'x'\n", 'A', ''],
    ["A= what 'x'\nB='y'\n", 'B', 'y'],
    ["A=''\n", 'A', ''],
    ["A='first'\nA='second'\n", 'A', 'first'],
    ['', 'A', ''],
    ["with space='x'\n", 'with space', 'x'],
  ])('%j has for %s the value %j', (text, key, value) => {
    expect(readEnvFile(text, key)).toBe(value);
  });

  it.each([
    ["A='x'\nB\n", "invalid environment variable format at line 2: missing '='"],
    ["='x'\n", 'invalid environment variable format at line 1: empty variable name'],
    ["A ='x'\n", "invalid environment variable format at line 1: whitespace before '=' is not allowed"],
    ['A=x\n', 'invalid environment variable format at line 1: value must be enclosed in single quotes'],
    ['A=\n', 'invalid environment variable format at line 1: value must be enclosed in single quotes'],
    ['A="x"\n', 'invalid environment variable format at line 1: value must be enclosed in single quotes'],
    ["A='x'y\n", 'invalid environment variable format at line 1: unexpected content after closing quote'],
    ["A='x\ny\n", /^invalid environment variable format at line \d: unclosed single quote$/],
    [`A='${'x'.repeat(70_000)}'\n`, 'invalid environment variable format at line 1: token too long'],
  ])('%j is refused', (text, message) => {
    expect(() => readEnvFile(text, 'Z')).toThrow(message);
  });

  it('is read only as far as the key', () => {
    expect(readEnvFile("A='x'\nnonsense\n", 'A')).toBe('x');
  });

  it('gives back what was written, whatever it is', () => {
    const value = fc.string({ unit: 'grapheme' }).filter((text) => !/['\r]/.test(text));
    fc.assert(
      fc.property(fc.array(value, { minLength: 1, maxLength: 5 }), (values) => {
        const text = values.map((one, i) => `K${i}='${one}'\n`).join('');
        for (const [i, one] of values.entries()) expect(readEnvFile(text, `K${i}`)).toBe(one);
      }),
    );
  });
});

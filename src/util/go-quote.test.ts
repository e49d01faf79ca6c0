import { expect, it } from 'vitest';
import { goQuote } from './go-quote.ts';

// Expected texts printed by fmt.Sprintf("%q", …).
it.each([
  ['plain text', '"plain text"'],
  ['', '""'],
  ['a"b\\c', '"a\\"b\\\\c"'],
  ['line\nnext\ttab\r', '"line\\nnext\\ttab\\r"'],
  ['\x07\b\f\v\x00\x1b\x7f', '"\\a\\b\\f\\v\\x00\\x1b\\x7f"'],
  ['grün 日本 🙂', '"grün 日本 🙂"'],
  ['\u00a0\u200b\ufeff', '"\\u00a0\\u200b\\ufeff"'],
  ['\u{e0001}', '"\\U000e0001"'],
])('quotes %j as Go does', (text, expected) => {
  expect(goQuote(text)).toBe(expected);
});

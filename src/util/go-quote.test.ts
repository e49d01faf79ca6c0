import { describe, expect, it } from 'vitest';
import { goQuote } from './go-quote.ts';

describe('goQuote', () => {
  it.each([
    ['plain', '"plain"'],
    ['two words', '"two words"'],
    ['a"b\\c', '"a\\"b\\\\c"'],
    ['line\nbreak\ttab', '"line\\nbreak\\ttab"'],
    ['\x00\x7f', '"\\x00\\x7f"'],
    ['ü 漢', '"ü 漢"'],
    ['\u00a0\u200b', '"\\u00a0\\u200b"'],
  ])('writes %j as Go does', (text, quoted) => {
    expect(goQuote(text)).toBe(quoted);
  });
});

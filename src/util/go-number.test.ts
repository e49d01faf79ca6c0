import { describe, expect, it } from 'vitest';
import { parseInteger, parseUint } from './go-number.ts';

describe('a number without a sign', () => {
  it.each([
    ['0', 0],
    ['0080', 80],
    ['65535', 65_535],
    ['65536', 'strconv.ParseUint: parsing "65536": value out of range'],
    ['+1', 'strconv.ParseUint: parsing "+1": invalid syntax'],
    ['', 'strconv.ParseUint: parsing "": invalid syntax'],
    ['a"b', 'strconv.ParseUint: parsing "a\\"b": invalid syntax'],
  ])('%j is taken or refused in the words of Go', (text, expected) => {
    expect(parseUint(text, 65_535)).toBe(expected);
  });
});

describe('a number with a sign', () => {
  it.each([
    ['-7', -7],
    ['+7', 7],
    ['1.5', 'strconv.Atoi: parsing "1.5": invalid syntax'],
    ['99999999999999999999', 'strconv.Atoi: parsing "99999999999999999999": value out of range'],
  ])('%j is taken or refused in the words of Go', (text, expected) => {
    expect(parseInteger(text)).toBe(expected);
  });
});

import { goQuote } from './go-quote.ts';

/** The number, or the text of the error that Go's `strconv.ParseUint` gives for it; `max` is what the bit size allows. */
export function parseUint(text: string, max: number): number | string {
  if (!/^[0-9]+$/.test(text)) return complaint('ParseUint', text, 'invalid syntax');
  const number = Number(text);
  return number > max ? complaint('ParseUint', text, 'value out of range') : number;
}

/** The number, or the text of the error that Go's `strconv.Atoi` gives for it; 53 bits instead of 64. */
export function parseInteger(text: string): number | string {
  if (!/^[+-]?[0-9]+$/.test(text)) return complaint('Atoi', text, 'invalid syntax');
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : complaint('Atoi', text, 'value out of range');
}

function complaint(name: string, text: string, what: string): string {
  return `strconv.${name}: parsing ${goQuote(text)}: ${what}`;
}

/** RFC 3339 with any number of fraction digits. */
const RFC3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;
const DIGITS = 9;

/** The form of `kubectl logs --timestamps`: nine digits, zone kept (Go layout `2006-01-02T15:04:05.000000000Z07:00`). */
export function fixedTime(text: string): string {
  const [, seconds, fraction = '', zone = ''] = RFC3339.exec(text) ?? [];
  if (seconds === undefined) return text;
  return `${seconds}.${nineDigits(fraction)}${isUtc(zone) ? 'Z' : zone}`;
}

/** In UTC with nine digits, so that times compare as texts; a text that is no time stays as it is. */
export function canonicalTime(text: string): string {
  const [, seconds, fraction = '', zone = ''] = RFC3339.exec(text) ?? [];
  if (seconds === undefined) return text;
  const utc = isUtc(zone) ? seconds : new Date(`${seconds}${zone}`).toISOString().slice(0, 19);
  return `${utc}.${nineDigits(fraction)}Z`;
}

/** For times that somebody typed; Date alone would take the 31st of February. */
export function isTime(text: string): boolean {
  const [, seconds, , zone = ''] = RFC3339.exec(text) ?? [];
  if (seconds === undefined || Number.isNaN(Date.parse(`${seconds}${zone}`))) return false;
  return new Date(`${seconds}Z`).toISOString().slice(0, 19) === seconds;
}

function isUtc(zone: string): boolean {
  return zone === 'Z' || zone === '+00:00' || zone === '-00:00';
}

function nineDigits(fraction: string): string {
  return fraction.slice(0, DIGITS).padEnd(DIGITS, '0');
}

/** Small files of the kernel. Pure. */

/** The first number of a file that holds one; undefined for "max" and for what is no number. */
export function numberIn(text: string | undefined): number | undefined {
  const trimmed = text?.trim();
  return trimmed !== undefined && /^\d+$/.test(trimmed) ? Number(trimmed) : undefined;
}

/** `key value` lines; further words of a line are left out. */
export function keyed(text: string | undefined): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const line of text?.split('\n') ?? []) {
    const [key, value] = line.split(/[\s:]+/, 2);
    if (key !== undefined && key !== '' && value !== undefined && /^\d+$/.test(value)) found.set(key, Number(value));
  }
  return found;
}

export function lineCount(text: string | undefined): number | undefined {
  return text?.split('\n').filter((line) => line !== '').length;
}

/** Without the fields that are undefined; undefined when nothing is left. */
export function given<T extends object>(fields: { readonly [Key in keyof T]: T[Key] | undefined }): T | undefined {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  // What is left are the fields of T that have a value; all of T's fields that may be absent are optional there.
  return entries.length === 0 ? undefined : (Object.fromEntries(entries) as T);
}

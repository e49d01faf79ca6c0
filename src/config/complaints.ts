import type { z } from 'zod';
import { UsageError } from '../util/errors.ts';

/** How a place inside a validated value is called: a field path of a document, or a flag. */
export interface Naming {
  readonly nameOf: (path: readonly PropertyKey[]) => string;
  /** Why a key that the schema lacks is refused. */
  readonly unknownKey: (path: readonly PropertyKey[]) => string;
}

/** All problems in one readable line: `<name>: <value> <what is wrong>`, joined by "; ". */
export function usageError(error: z.ZodError, raw: unknown, naming: Naming, prefix = ''): UsageError {
  const lines = error.issues.flatMap((issue) => sentences(issue, raw, naming));
  const shown = lines.slice(0, 3).join('; ');
  return new UsageError(`${prefix}${shown}${lines.length > 3 ? ` (and ${lines.length - 3} more)` : ''}`);
}

function sentences(issue: z.core.$ZodIssue, raw: unknown, { nameOf, unknownKey }: Naming): string[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `${nameOf([...issue.path, key])}: ${unknownKey([...issue.path, key])}`);
  }
  const value = valueAt(raw, issue.path);
  const name = nameOf(issue.path);
  if (value === undefined) return [`${name}: is missing`];
  const complaint =
    issue.code === 'invalid_type' ? `must be ${EXPECTED[issue.expected] ?? issue.expected}` : issue.message;
  return [`${name}: ${show(value)} ${complaint}`];
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'a text (in quotes if it looks like a number)',
  boolean: 'true or false',
  array: 'a list',
  object: 'a mapping',
  record: 'a mapping',
};

function valueAt(raw: unknown, path: readonly PropertyKey[]): unknown {
  let value = raw;
  for (const key of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

/** One line, not too long: the whole value is in front of whoever wrote it. */
export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}

/** `nodes[1].port` */
export function fieldPath(path: readonly PropertyKey[]): string {
  return path.reduce<string>((text, key) => {
    if (typeof key === 'number') return `${text}[${key}]`;
    return text === '' ? String(key) : `${text}.${String(key)}`;
  }, '');
}

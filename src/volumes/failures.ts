import { errorMessage } from '../util/errors.ts';

/** One failure keeps its text; several are listed as Go's aggregate does, each text once. None: nothing happens. */
export function throwTogether(failures: readonly unknown[]): void {
  if (failures.length === 0) return;
  const texts = [...new Set(failures.map(errorMessage))];
  const message = texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
  throw new Error(message, { cause: failures[0] });
}

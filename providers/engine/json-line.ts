import { isRecord } from '../../src/util/is-record.ts';

/** One line of a stream of objects; undefined for anything else. What the fields hold is for the caller to check. */
export function parseJsonLine(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const parsed: unknown = JSON.parse(line);
    return isRecord(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

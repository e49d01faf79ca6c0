export interface WaitOptions {
  /** What is waited for, as in "timed out after 20 s waiting for …". */
  readonly what: string;
  readonly timeoutMs?: number;
  readonly intervalMs?: number;
  /** Called when time is up; its text goes into the error. */
  readonly detail?: () => string | Promise<string>;
  readonly signal?: AbortSignal;
}

/** Asks until the answer is neither undefined nor false. An error of `check` counts as "not yet" and is named if time runs out. */
export async function waitFor<T>(
  check: () => Promise<T | undefined | false> | T | undefined | false,
  { what, timeoutMs = 60_000, intervalMs = 100, detail, signal }: WaitOptions,
): Promise<T> {
  const end = performance.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    signal?.throwIfAborted();
    try {
      const value = await check();
      if (value !== undefined && value !== false) return value;
      last = undefined;
    } catch (error) {
      if (error instanceof GiveUp) throw error;
      last = error;
    }
    if (performance.now() > end) break;
    await sleep(intervalMs);
  }
  const reason = last instanceof Error ? `; last error: ${last.message}` : '';
  const more = detail === undefined ? '' : `\n${await detail()}`;
  throw new Error(`timed out after ${timeoutMs / 1000} s waiting for ${what}${reason}${more}`);
}

/** Thrown by a check for which more waiting is useless. */
export class GiveUp extends Error {}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

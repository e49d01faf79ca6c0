/** Time as a dependency, so that tests can hold it still. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms`; rejects with the signal's reason when it aborts first. */
  sleep(ms: number, options: { readonly signal: AbortSignal }): Promise<void>;
  /** Calls `callback` once after `ms`; the returned function cancels it. */
  timer(ms: number, callback: () => void): () => void;
}

/** The machine's. `now` may jump when somebody sets the clock; timers and sleeps do not. Timers beyond 24 days fire early. */
export const systemClock: Clock = {
  now: () => Date.now(),
  sleep(ms, { signal }) {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = (): void => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const timer = setTimeout(() => {
        signal.removeEventListener('abort', onAbort);
        resolve();
      }, inRange(ms));
      signal.addEventListener('abort', onAbort, { once: true });
    });
  },
  timer(ms, callback) {
    const timer = setTimeout(callback, inRange(ms));
    return () => clearTimeout(timer);
  },
};

/** Beyond 2³¹ − 1 ms Node would fire at once. */
function inRange(ms: number): number {
  return Math.min(ms, 0x7fffffff);
}

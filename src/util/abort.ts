/** A controller that follows a parent signal and lets go of it when disposed (a listener left on a long-lived parent is a leak). */
export class ChildAbort implements Disposable {
  readonly #controller = new AbortController();
  readonly #parent: AbortSignal;
  readonly #follow: () => void;

  constructor(parent: AbortSignal) {
    this.#parent = parent;
    this.#follow = () => this.#controller.abort(parent.reason);
    if (parent.aborted) this.#follow();
    else parent.addEventListener('abort', this.#follow, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  abort(reason?: unknown): void {
    this.#controller.abort(reason);
  }

  [Symbol.dispose](): void {
    this.#parent.removeEventListener('abort', this.#follow);
  }
}

/** True for the rejection that an aborted call gives, whatever library made it. */
export function isAbortError(error: unknown, signal: AbortSignal): boolean {
  return (
    signal.aborted &&
    (error === signal.reason ||
      (error instanceof Error && (error.name === 'AbortError' || error.cause === signal.reason)))
  );
}

/** The promise's outcome, or the signal's reason when it aborts first; whatever the promise stands for goes on. */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

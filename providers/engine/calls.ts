import { Readable } from 'node:stream';
import { ChildAbort } from '../../src/util/abort.ts';
import { type CallOptions, type ProviderContext, ProviderError } from '../contract/index.ts';
import { abortError } from '../shared/abort-error.ts';
import { toProviderError } from './errors.ts';

/**
 * Every call to the engine goes through here: it ends when its signal aborts, it ends when the engine stays silent for
 * too long (an engine that hangs is an engine that could not be asked), and its failure is a ProviderError.
 */
export class EngineCalls {
  readonly #clock: ProviderContext['clock'];
  readonly #timeoutMs: number;

  constructor(clock: ProviderContext['clock'], timeoutMs: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  /** `what` completes "the engine did not answer within 30 s when asked to …". */
  async call<T>(
    what: string,
    options: CallOptions & { readonly timeoutMs?: number },
    ask: (abortSignal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const { signal } = options;
    if (signal.aborted) throw abortError(signal);
    const timeoutMs = options.timeoutMs ?? this.#timeoutMs;
    using request = new ChildAbort(signal);
    using timer = new ChildAbort(signal);
    let late = false;
    void this.#clock.sleep(timeoutMs, { signal: timer.signal }).then(
      () => {
        late = true;
        request.abort();
      },
      () => {}, // the call was answered first
    );
    // The client library forgets to call back when a connection dies inside an answer, so its promise alone is not enough.
    const cut = new Promise<never>((_, reject) => {
      request.signal.addEventListener('abort', () => reject(request.signal.reason), { once: true });
    });
    try {
      return await Promise.race([ask(request.signal), cut]);
    } catch (error) {
      if (signal.aborted) throw abortError(signal);
      if (late) {
        const message = `the engine did not answer within ${timeoutMs / 1000} s when asked to ${what}`;
        throw new ProviderError('Unavailable', message, { cause: error });
      }
      throw toProviderError(error);
    } finally {
      timer.abort();
    }
  }

  /** Opens an answer that goes on; the deadline is for its beginning only. The stream is destroyed when the signal aborts. */
  async open(
    what: string,
    options: CallOptions & { readonly timeoutMs?: number },
    ask: (abortSignal: AbortSignal) => Promise<Readable>,
  ): Promise<Readable> {
    const { signal } = options;
    const stream = await this.call(what, options, ask);
    const end = (): void => {
      stream.destroy(abortError(signal));
    };
    // A stream that is destroyed while nobody reads it must not end the process.
    stream.on('error', () => {});
    if (signal.aborted) end();
    signal.addEventListener('abort', end, { once: true });
    stream.once('close', () => signal.removeEventListener('abort', end));
    return stream;
  }
}

/** The chunks of an answer that goes on; silence of this length destroys it with the error. */
export async function* unlessSilent(
  stream: Readable,
  { clock, silenceMs, error }: { clock: ProviderContext['clock']; silenceMs: number; error: () => Error },
): AsyncGenerator<Uint8Array, void, undefined> {
  let alarm = new AbortController();
  const arm = (): void => {
    alarm.abort();
    alarm = new AbortController();
    void clock.sleep(silenceMs, { signal: alarm.signal }).then(
      () => stream.destroy(error()),
      () => {}, // something came first
    );
  };
  arm();
  try {
    for await (const chunk of stream) {
      arm();
      yield chunk;
    }
  } finally {
    alarm.abort();
  }
}

/** What a broken stream means for its reader. */
export function streamFailure(error: unknown, signal: AbortSignal): Error {
  if (signal.aborted) return abortError(signal);
  if (error instanceof ProviderError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new ProviderError('Unavailable', `the engine's stream broke: ${message}`, { cause: error });
}

/** The client library promises less than it gives: a streamed answer is the HTTP response itself. */
export function asReadable(answer: unknown): Readable {
  if (answer instanceof Readable) return answer;
  throw new ProviderError('Internal', 'the engine client gave no stream');
}

import { ChildAbort } from '../../src/util/abort.ts';
import {
  type CallOptions,
  type ExecExit,
  type ExecSession,
  ProviderError,
  type TerminalSize,
} from '../contract/index.ts';
import { abortError } from '../shared/abort-error.ts';
import { streamFailure } from './calls.ts';
import type { Engine } from './engine.ts';
import { Resizer } from './resizer.ts';
import type { ConnectionEnd, SessionStreams } from './session-streams.ts';

export interface SessionParts {
  readonly streams: SessionStreams;
  readonly resize: (size: TerminalSize, options: CallOptions) => Promise<unknown>;
  /** What became of the command, asked when the connection has ended; of one that goes on nothing is said before its end. */
  readonly exit: (options: CallOptions) => Promise<ExecExit>;
  /** Whether the command has ended, asked when the connection broke. */
  readonly isOver: (options: CallOptions) => Promise<boolean>;
  /** Called when the session was aborted before its end. */
  readonly onAbort?: () => void;
}

/** The sessions that are open, so that they end with their provider. */
export class Sessions {
  readonly #engine: Engine;
  readonly #open = new Set<ChildAbort>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  get size(): number {
    return this.#open.size;
  }

  start(parts: SessionParts, { signal }: CallOptions): ExecSession {
    const { streams } = parts;
    const life = new ChildAbort(signal);
    this.#open.add(life);
    const options = { signal: life.signal };
    const resizer = new Resizer((size) => parts.resize(size, options), this.#engine.context.clock, options);
    const exit = settle(parts, options).finally(() => {
      this.#open.delete(life);
      life[Symbol.dispose]();
      // What is still under way for this session, such as a size of its terminal.
      life.abort();
    });
    return {
      ...(streams.stdin === undefined ? {} : { stdin: streams.stdin }),
      stdout: streams.stdout,
      ...(streams.stderr === undefined ? {} : { stderr: streams.stderr }),
      resize: (size) => resizer.resize(size),
      exit,
    };
  }

  /** Ends all of them. */
  close(): void {
    for (const life of this.#open) life.abort(new ProviderError('Unavailable', 'the provider was closed'));
  }
}

/** Never rejects. */
async function settle(parts: SessionParts, options: CallOptions): Promise<ExecExit> {
  const { streams } = parts;
  const { signal } = options;
  const aborted = Promise.withResolvers<'aborted'>();
  const onAbort = (): void => aborted.resolve('aborted');
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    const ended = await Promise.race([run(parts, options), aborted.promise]);
    if (ended !== 'aborted') return ended;
    parts.onAbort?.();
    const error = abortError(signal);
    streams.fail(error);
    return { type: 'failed', error };
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

/** Never rejects. */
async function run({ streams, exit, isOver }: SessionParts, options: CallOptions): Promise<ExecExit> {
  try {
    const end = await streams.disconnected;
    if (!(await isClean(end, isOver, options))) throw end.type === 'broken' ? end.error : new Error('cut');
    streams.finish();
    const [ended] = await Promise.all([exit(options), streams.read()]);
    return ended;
  } catch (cause) {
    const error = streamFailure(cause, options.signal);
    streams.fail(error);
    return { type: 'failed', error };
  }
}

/** Input that a command does not take any more breaks the connection at its end; that is no failure. */
async function isClean(end: ConnectionEnd, isOver: SessionParts['isOver'], options: CallOptions): Promise<boolean> {
  return end.type === 'eof' || (end.isWhole && (await isOver(options)));
}

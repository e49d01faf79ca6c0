import { type Duplex, Writable } from 'node:stream';
import { ProviderError } from '../contract/index.ts';
import { SessionOutput } from '../shared/session-output.ts';
import { StreamFrames, type StreamPiece } from './stream-frames.ts';

export interface SessionStreamsOptions {
  /** Without a terminal both outputs come in frames; with one there is a single output, raw. */
  readonly terminal: boolean;
  /** Present: the session takes standard input. Called once, when the writer has ended or gone. */
  readonly onStdinEnd?: (socket: Duplex) => void;
  /**
   * Asked about a first output that may be the engine's own words in place of a command's: short, on standard output, its line ended
   * as the engine does. True: it is, and nothing of it is passed on. Must not reject.
   */
  readonly isEngineSpeaking?: (text: string) => Promise<boolean>;
}

/** Longer is no message of the engine. */
const MAX_MESSAGE_BYTES = 4096;
const ENGINE_LINE_END = Buffer.from('\r\n');

/** How the connection ended: after the end of the output, or broken, perhaps only because nobody took our input any more. */
export type ConnectionEnd =
  | { readonly type: 'eof' }
  | {
      readonly type: 'broken';
      readonly error: Error;
      /** Nothing of the output can have been lost. */
      readonly isWhole: boolean;
    };

/**
 * The streams of one session over one hijacked connection, with back-pressure both ways; not more than what is in flight is held.
 * Whoever opened it ends the outputs, with `finish` or `fail`, when the connection has ended or before.
 */
export class SessionStreams {
  readonly stdin: Writable | undefined;
  readonly stdout: SessionOutput;
  readonly stderr: SessionOutput | undefined;
  /** Never rejects. */
  readonly disconnected: Promise<ConnectionEnd>;
  readonly #socket: Duplex;
  readonly #frames: StreamFrames | undefined;
  readonly #disconnect: (end: ConnectionEnd) => void;
  #isEngineSpeaking: SessionStreamsOptions['isEngineSpeaking'];
  /** What came first, until it is known whose words it is. */
  #held: StreamPiece[] = [];
  /** Under way: the question whose words came first. */
  #asking: Promise<void> | undefined;
  #over = false;

  constructor(socket: Duplex, options: SessionStreamsOptions) {
    const { promise, resolve } = Promise.withResolvers<ConnectionEnd>();
    const onRoom = (): void => this.#flow();
    this.disconnected = promise;
    // An end overtakes the answer.
    this.#disconnect = (end) => void Promise.resolve(this.#asking).then(() => resolve(end));
    this.#socket = socket;
    this.#frames = options.terminal ? undefined : new StreamFrames();
    this.#isEngineSpeaking = options.isEngineSpeaking;
    this.stdout = new SessionOutput(onRoom);
    this.stderr = options.terminal ? undefined : new SessionOutput(onRoom);
    const { onStdinEnd } = options;
    this.stdin = onStdinEnd && stdinOver(socket, () => onStdinEnd(socket));
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.once('end', () => this.#onEnd());
    socket.once('error', (error) => this.#broken(error));
    socket.once('close', () => this.#broken(new Error('the connection was closed')));
    if (socket.destroyed) this.#broken(new Error('the connection was closed'));
  }

  /** Both outputs have been read to their end, or are not wanted any more. */
  async read(): Promise<void> {
    await Promise.all([this.stdout.settled, this.stderr?.settled]);
  }

  /** As if the other side had ended its output now. */
  leave(): void {
    this.#disconnect({ type: 'eof' });
  }

  /** The outputs end here, with an error unless they have ended before. */
  fail(error: Error): void {
    this.#close();
    this.stdout.destroy(error);
    this.stderr?.destroy(error);
  }

  /** The outputs end here, after what has been said so far. */
  finish(): void {
    this.#close();
    this.stdout.finish();
    this.stderr?.finish();
  }

  #close(): void {
    this.#over = true;
    this.#socket.destroy();
    // After the end nobody takes it; the writer sees a closed stream, not an error.
    this.stdin?.destroy();
  }

  #onEnd(): void {
    if (this.#frames?.midFrame === true) this.#broken(new Error('the connection was cut in the middle of an output'));
    else this.#disconnect({ type: 'eof' });
  }

  #broken(error: Error): void {
    const isWhole = this.#frames?.midFrame !== true && !this.#socket.isPaused();
    this.#disconnect({ type: 'broken', error, isWhole });
  }

  #onData(chunk: Buffer): void {
    if (this.#over) return;
    try {
      const pieces: readonly StreamPiece[] = this.#frames?.push(chunk) ?? [{ stream: 'stdout', data: chunk }];
      if (this.#isEngineSpeaking !== undefined) this.#hold(pieces, this.#isEngineSpeaking);
      else for (const piece of pieces) this.#deliver(piece);
    } catch (error) {
      this.#over = true;
      this.#disconnect({
        type: 'broken',
        error: error instanceof Error ? error : new Error(String(error)),
        isWhole: false,
      });
      return;
    }
    this.#flow();
  }

  #hold(pieces: readonly StreamPiece[], isEngineSpeaking: (text: string) => Promise<boolean>): void {
    this.#held.push(...pieces);
    if (this.#held.length === 0) return;
    const text = Buffer.concat(this.#held.map(({ data }) => data));
    const mayBe = text.length <= MAX_MESSAGE_BYTES && this.#held.every(({ stream }) => stream === 'stdout');
    // The rest of a small frame is on its way.
    if (mayBe && this.#frames?.midFrame === true) return;
    this.#isEngineSpeaking = undefined;
    if (!mayBe || !text.subarray(-ENGINE_LINE_END.length).equals(ENGINE_LINE_END)) {
      this.#release();
      return;
    }
    this.#asking = isEngineSpeaking(text.toString().trim()).then((isEngine) => {
      this.#asking = undefined;
      if (isEngine) this.#held = [];
      if (this.#over) return;
      this.#release();
      this.#flow();
    });
  }

  #release(): void {
    const held = this.#held;
    this.#held = [];
    for (const piece of held) this.#deliver(piece);
  }

  #deliver({ stream, data }: StreamPiece): void {
    if (stream === 'engine') throw new ProviderError('Internal', data.toString().trim());
    if (stream === 'stderr') this.stderr?.offer(data);
    else this.stdout.offer(data);
  }

  /** One output that is full holds both: they come over one connection. */
  #flow(): void {
    if (this.#over) return;
    if (this.#asking !== undefined || this.stdout.full || this.stderr?.full === true) this.#socket.pause();
    else if (this.#socket.isPaused()) this.#socket.resume();
  }
}

function stdinOver(socket: Duplex, onEnd: () => void): Writable {
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    onEnd();
  };
  const stdin = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      if (socket.write(chunk)) done();
      else socket.once('drain', done);
    },
    final: (done) => {
      end();
      done();
    },
    destroy: (error, done) => {
      end();
      done(error);
    },
  });
  // Whoever writes may be gone when the other side breaks.
  stdin.on('error', () => {});
  return stdin;
}

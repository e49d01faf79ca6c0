import { Duplex } from 'node:stream';
import { ProviderError } from '../contract/index.ts';
import { StreamFrames } from './stream-frames.ts';

const MAX_WORDS = 1_000;
/** Of what the target says before we know that the connection stands: more than a few packets do not overtake one word. */
const MAX_EARLY_BYTES = 1024 * 1024;

/** One connection that a relay makes: the hijacked streams of its command as one two-way stream, with back-pressure both ways. */
export class RelayStream extends Duplex {
  /** PID in the relay, once the connection stands. Rejects when it comes to nothing. */
  readonly opened: Promise<number>;
  readonly #socket: Duplex;
  readonly #frames = new StreamFrames();
  readonly #onOpened: (pid: number) => void;
  readonly #onFailed: (error: Error) => void;
  #open = false;
  /** What came on the standard error before the connection stood. */
  #words = '';
  /** Data that overtook the word that the connection stands: the engine keeps no order between the two outputs. */
  #early: Buffer[] = [];
  #earlyBytes = 0;

  constructor(socket: Duplex) {
    super({ allowHalfOpen: true });
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    promise.catch(() => {}); // whoever made the stream hears of it by awaiting
    this.opened = promise;
    this.#onOpened = resolve;
    this.#onFailed = reject;
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => this.#onData(chunk));
    socket.once('end', () => this.#onEnd());
    socket.once('error', (error) => this.destroy(error));
    socket.once('close', () => this.#onClose());
  }

  override _read(): void {
    this.#socket.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#socket.write(chunk, done);
  }

  override _writev(chunks: { readonly chunk: Buffer }[], done: (error?: Error | null) => void): void {
    this.#socket.write(Buffer.concat(chunks.map(({ chunk }) => chunk)), done);
  }

  override _final(done: (error?: Error | null) => void): void {
    // The relay's command has ended already: there is nobody to tell.
    if (this.#socket.destroyed || this.#socket.writableEnded) done();
    else this.#socket.end(done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#socket.destroy();
    this.#onFailed(error ?? this.#failure());
    done(error);
  }

  #onData(chunk: Buffer): void {
    try {
      for (const { stream, data } of this.#frames.push(chunk)) {
        if (stream !== 'stdout') this.#onWords(data.toString('utf8'));
        else if (this.#open) this.#pushData(data);
        else this.#keep(data);
      }
    } catch (error) {
      this.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #onWords(text: string): void {
    this.#words = (this.#words + text).slice(0, MAX_WORDS);
    const pid = /^open (\d+)\n/m.exec(this.#words)?.[1];
    if (this.#open || pid === undefined) return;
    this.#open = true;
    this.#onOpened(Number(pid));
    for (const data of this.#early.splice(0)) this.#pushData(data);
  }

  #pushData(data: Buffer): void {
    if (!this.push(data)) this.#socket.pause();
  }

  #keep(data: Buffer): void {
    this.#earlyBytes += data.length;
    if (this.#earlyBytes > MAX_EARLY_BYTES)
      throw new ProviderError('Internal', 'the relay sent data before it was connected');
    this.#early.push(Buffer.from(data));
  }

  #onEnd(): void {
    if (this.#open) this.push(null);
    else this.destroy(this.#failure());
  }

  #onClose(): void {
    if (!this.#open) this.destroy(this.#failure());
    else if (!this.readableEnded && !this.#socket.readableEnded)
      this.destroy(new Error('the connection to the engine broke'));
    // The relay's command is gone, and nobody takes what is still written.
    else if (!this.writableFinished) this.end();
  }

  #failure(): ProviderError {
    // What the engine itself has to say comes as data.
    const words = (this.#words + Buffer.concat(this.#early).toString('utf8').slice(0, MAX_WORDS)).trim();
    if (words === 'refused') return new ProviderError('ConnectionRefused', 'connect: connection refused');
    const what = words === 'no nc' ? 'there is no nc in its image; relayImage has to name one with sh and nc' : words;
    return new ProviderError('Internal', `the relay could not connect: ${what || 'it ended'}`);
  }
}

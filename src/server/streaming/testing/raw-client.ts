import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Bytes out, bytes in. */
export class RawClient {
  readonly socket: Socket;
  #received: Buffer[] = [];
  #waiting: (() => void)[] = [];
  #ended = false;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#received.push(chunk);
      this.#wake();
    });
    socket.on('error', () => {});
    for (const event of ['end', 'close']) {
      socket.on(event, () => {
        this.#ended = true;
        this.#wake();
      });
    }
  }

  static async open(port: number): Promise<RawClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new RawClient(socket);
  }

  send(...parts: readonly (string | Buffer)[]): void {
    for (const part of parts) this.socket.write(part);
  }

  /** A request without a body; the answer is for the caller. */
  request(line: string, headers: readonly string[] = []): void {
    this.send(`${[`${line} HTTP/1.1`, 'Host: node:10250', ...headers].join('\r\n')}\r\n\r\n`);
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#received);
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Until `found` gives something for all that has come so far; that much is then taken away. */
  async take<T>(found: (bytes: Buffer) => { readonly value: T; readonly length: number } | undefined): Promise<T> {
    for (;;) {
      const result = found(this.bytes);
      if (result !== undefined) {
        this.#received = [this.bytes.subarray(result.length)];
        return result.value;
      }
      if (this.#ended) throw new Error(`the connection ended after ${JSON.stringify(this.bytes.toString('latin1'))}`);
      await this.#more();
    }
  }

  /** Everything up to and with the blank line. */
  head(): Promise<string> {
    return this.take((bytes) => {
      const end = bytes.indexOf('\r\n\r\n');
      return end < 0 ? undefined : { value: bytes.toString('latin1', 0, end + 4), length: end + 4 };
    });
  }

  async untilEnd(): Promise<Buffer> {
    while (!this.#ended) await this.#more();
    return this.bytes;
  }

  #more(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

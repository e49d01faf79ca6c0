import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import { FakeClock, settle } from '../../../../testing/fake-clock.ts';
import { SpdyConnection, type SpdyOptions } from '../connection.ts';
import type { SpdyStream } from '../stream.ts';
import { ClientFrames, type ServerFrame, serverFrames } from './client-frames.ts';

/** A client on one end of a pair, the connection on the other. */
export class Bed {
  readonly frames = new ClientFrames();
  readonly clock = new FakeClock();
  readonly streams: SpdyStream[] = [];
  readonly client: Duplex;
  readonly socket: Duplex;
  readonly connection: SpdyConnection;
  #received: Buffer[] = [];

  constructor(options: Partial<SpdyOptions> & { readonly head?: Buffer } = {}) {
    [this.client, this.socket] = duplexPair();
    this.client.on('data', (chunk: Buffer) => this.#received.push(chunk));
    this.connection = new SpdyConnection(this.socket, options.head ?? Buffer.alloc(0), {
      clock: this.clock,
      onStream: (stream) => void this.streams.push(stream),
      ...options,
    });
  }

  async send(...frames: Buffer[]): Promise<void> {
    this.client.write(Buffer.concat(frames));
    await settle();
  }

  async open(id: number, headers: Record<string, string> = {}): Promise<SpdyStream> {
    await this.send(this.frames.synStream(id, headers));
    const stream = this.streams.at(-1);
    if (stream?.id !== id) throw new Error(`stream ${id} did not come`);
    return stream;
  }

  get received(): ServerFrame[] {
    return serverFrames(Buffer.concat(this.#received));
  }

  get receivedTypes(): string[] {
    return this.received.map((frame) => ('id' in frame ? `${frame.type} ${frame.id}` : frame.type));
  }

  dataOf(id: number): string {
    const pieces = this.received.map((frame) => (frame.type === 'data' && frame.id === id ? frame.payload : ''));
    return pieces.join('');
  }
}

/** What a stream has said by now and later. */
export function collect(stream: Duplex): { text: string; ended: boolean; error?: Error } {
  const seen: { text: string; ended: boolean; error?: Error } = { text: '', ended: false };
  stream.on('data', (chunk: Buffer) => {
    seen.text += chunk.toString('latin1');
  });
  stream.on('end', () => {
    seen.ended = true;
  });
  stream.on('error', (error) => {
    seen.error = error;
  });
  return seen;
}

/** Over a real socket pair, for what depends on how a socket drains. */
export async function socketBed(
  onStream: (stream: SpdyStream) => void = () => {},
): Promise<{ client: Socket; connection: SpdyConnection; streams: SpdyStream[] }> {
  const streams: SpdyStream[] = [];
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const client = connect(address.port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket]; // what the event carries
  server.close();
  const connection = new SpdyConnection(socket, Buffer.alloc(0), {
    clock: new FakeClock(),
    onStream: (stream) => {
      streams.push(stream);
      onStream(stream);
    },
  });
  return { client, connection, streams };
}

/** Waits for something that a socket does in its own time. */
export async function waitUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}

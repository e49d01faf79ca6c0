import { ClientFrames, type ServerFrame, serverFrames } from '../spdy/testing/client-frames.ts';
import { until } from './bed.ts';
import { RawClient } from './raw-client.ts';

/** A client of SPDY by hand: frames out, frames in. */
export class SpdyClient {
  readonly frames = new ClientFrames();
  readonly raw: RawClient;

  private constructor(raw: RawClient) {
    this.raw = raw;
  }

  static async open(port: number, path: string, protocol: string): Promise<SpdyClient> {
    const raw = await RawClient.open(port);
    raw.request(`POST ${path}`, [
      'Content-Length: 0',
      'Connection: Upgrade',
      'Upgrade: SPDY/3.1',
      `X-Stream-Protocol-Version: ${protocol}`,
    ]);
    const head = await raw.head();
    if (!head.includes(' 101 ')) throw new Error(head);
    return new SpdyClient(raw);
  }

  /** As clients of Kubernetes do: the next stream only after the reply to the one before. */
  async openStreams(...types: readonly string[]): Promise<void> {
    for (const [index, streamType] of types.entries()) {
      const id = 2 * index + 1;
      this.raw.send(this.frames.synStream(id, { streamType }));
      await until(() => this.answers(id).length > 0);
    }
  }

  get received(): readonly ServerFrame[] {
    return serverFrames(this.raw.bytes);
  }

  /** Replies and resets of a stream. */
  answers(id: number): readonly string[] {
    return this.received.flatMap((frame) =>
      (frame.type === 'synReply' || frame.type === 'rst') && frame.id === id ? [frame.type] : [],
    );
  }

  text(id: number): string {
    return this.received
      .flatMap((frame) => (frame.type === 'data' && frame.id === id ? [frame.payload.toString('latin1')] : []))
      .join('');
  }

  /** The order of things, empty frames as the ends that they are. */
  get story(): readonly string[] {
    return this.received.map((frame) => {
      if (frame.type === 'data') return `${frame.fin ? 'fin' : 'data'} ${frame.id}`;
      return 'id' in frame ? `${frame.type} ${frame.id}` : frame.type;
    });
  }
}

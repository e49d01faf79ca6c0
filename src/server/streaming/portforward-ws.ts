import type { WebSocket } from 'ws';
import type { Clock } from '../../util/clock.ts';
import { type ForwardTarget, forward } from './portforward.ts';
import { ended } from './session.ts';
import { ChannelSocket } from './ws/channels.ts';

export interface WebSocketForwardOptions {
  /** As chosen; the empty name speaks as v4.channel.k8s.io. */
  readonly protocol: string;
  readonly ports: readonly number[];
  readonly target: ForwardTarget;
  readonly clock: Clock;
  readonly idleTimeoutMs: number;
}

/**
 * The older port-forward, one connection per port, dialled at once: channel 2n is its data, 2n + 1 its errors, and both begin
 * with the port (reference 11.9). To be called before the first message of the socket can come. Never rejects.
 */
export async function forwardOverWebSocket(webSocket: WebSocket, options: WebSocketForwardOptions): Promise<void> {
  const { protocol, ports, target, clock, idleTimeoutMs } = options;
  const channels = new ChannelSocket(webSocket, { protocol, count: 2 * ports.length, clock, idleTimeoutMs });
  const { signal } = channels;
  await Promise.all(
    ports.map(async (port, index) => {
      const input = channels.reader(2 * index);
      const output = channels.writer(2 * index);
      const error = channels.writer(2 * index + 1);
      output.write(littleEndian(port));
      error.write(littleEndian(port));
      const failure = await forward(target, port, { input, output, signal });
      await ended(output);
      await ended(error, failure);
    }),
  );
  channels.close();
}

function littleEndian(port: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(port);
  return bytes;
}

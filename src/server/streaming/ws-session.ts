import type { WebSocket } from 'ws';
import type { Clock } from '../../util/clock.ts';
import { protocolVersion } from './negotiation.ts';
import type { StreamOptions } from './options.ts';
import { ended, type RemoteSession, TerminalSizes } from './session.ts';
import { statusText } from './status.ts';
import { ChannelSocket } from './ws/channels.ts';

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const ERROR = 3;
const RESIZE = 4;
const CHANNELS = 5;

export interface WebSocketSessionOptions {
  /** As chosen; the empty name is channel.k8s.io. */
  readonly protocol: string;
  readonly streams: Omit<StreamOptions, 'type'>;
  readonly clock: Clock;
  readonly idleTimeoutMs: number;
}

/** To be made before the first message of the socket can come. */
export function webSocketSession(webSocket: WebSocket, options: WebSocketSessionOptions): RemoteSession {
  const { protocol, streams, clock, idleTimeoutMs } = options;
  const channels = new ChannelSocket(webSocket, { protocol, count: CHANNELS, clock, idleTimeoutMs });
  const sizes = new TerminalSizes();
  channels.reader(RESIZE).on('data', (bytes: Buffer) => sizes.push(bytes));
  const stdout = streams.stdout ? channels.writer(STDOUT) : undefined;
  const stderr = streams.stderr ? channels.writer(STDERR) : undefined;
  const error = channels.writer(ERROR);
  // Clients wait for it to know that the session stands.
  channels.announce(streams.stdout ? STDOUT : streams.stderr ? STDERR : ERROR);
  return {
    ...(streams.stdin && { stdin: channels.reader(STDIN) }),
    ...(stdout !== undefined && { stdout }),
    ...(stderr !== undefined && { stderr }),
    sizes,
    signal: channels.signal,
    async finish(status) {
      await ended(stdout);
      await ended(stderr);
      await ended(error, statusText(status, protocolVersion(protocol)));
      channels.close();
    },
  };
}

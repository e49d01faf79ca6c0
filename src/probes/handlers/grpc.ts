import { type ClientHttp2Session, connect, constants } from 'node:http2';
import type { Duplex } from 'node:stream';
import { isProviderError } from '../../../providers/contract/index.ts';
import { untilAborted } from '../../util/abort.ts';
import { backoffDelayMs, withJitter } from '../../util/backoff.ts';
import type { Clock } from '../../util/clock.ts';
import { formatDuration } from '../../util/duration.ts';
import { errorMessage } from '../../util/errors.ts';
import { goQuote } from '../../util/go-quote.ts';
import { type Attempt, errored, failure, isAway, SUCCESS } from './attempt.ts';
import type { Deadline } from './deadline.ts';
import { type Dialer, isOfTarget, joinHostPort } from './dialing.ts';
import { checkHealth } from './grpc-call.ts';
import { type GrpcStatus, statusText } from './grpc-status.ts';
import { SERVING, statusName } from './grpc-wire.ts';

export interface GrpcTarget {
  readonly dialer: Dialer;
  readonly podIP: string;
  readonly port: number;
  readonly service: string;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly random: () => number;
}

interface Connection {
  readonly session: ClientHttp2Session;
  readonly stream: Duplex;
}

/** grpc-go connects again and again until the time is over (backoff.DefaultConfig; its factor is 1.6, ours 2). */
const RECONNECT = { baseMs: 1_000, maxMs: 120_000 };

/** grpc.health.v1.Health/Check on the pod's address, in plain text (reference 4.6; kubelet: pkg/probe/grpc). */
export async function probeGrpc(target: GrpcTarget, deadline: Deadline): Promise<Attempt> {
  const { podIP, port, service, userAgent } = target;
  const address = joinHostPort(podIP, port);
  const within = formatDuration(deadline.timeoutMs);
  let connection: Connection;
  try {
    connection = await connectUntilReady(target, address, deadline.signal);
  } catch (error: unknown) {
    if (isAway(error)) return { type: 'away', error };
    if (isOwnFault(error)) return errored(error.message);
    // Never anything but the end of the time, refused or not: the kubelet waits for a connection as long as it may.
    return failure(
      `timeout: failed to connect service ${goQuote(address)} within ${within}: context deadline exceeded`,
    );
  }
  const { session, stream } = connection;
  try {
    const call = { authority: address, service, userAgent, timeoutMs: deadline.timeoutMs };
    const result = await checkHealth(session, call, { signal: deadline.signal });
    if (result.type === 'failed') return refused(result.status, within);
    if (result.status === SERVING) return SUCCESS;
    return failure(`service unhealthy (responded with ${goQuote(statusName(result.status))})`);
  } catch (error: unknown) {
    // HTTP/2 tells of an end only; why is known to the stream.
    if (isAway(stream.errored)) return { type: 'away', error: stream.errored };
    if (deadline.expired) return failure(`timeout: health rpc did not complete within ${within}`);
    return refused({ code: 'Unavailable', message: `error reading from server: ${errorMessage(error)}` }, within);
  } finally {
    session.destroy();
  }
}

function refused(status: GrpcStatus, within: string): Attempt {
  if (status.code === 'DeadlineExceeded') return failure(`timeout: health rpc did not complete within ${within}`);
  if (status.code !== 'Unimplemented') return failure(`error: health rpc probe failed: ${statusText(status)}`);
  const unimplemented = 'error: this server does not implement the grpc health protocol (grpc.health.v1.Health)';
  return failure(`${unimplemented}: ${status.message}`);
}

/** The provider cannot dial; another try is pointless. */
function isOwnFault(error: unknown): error is Error {
  return isProviderError(error) && !isOfTarget(error);
}

/** Rejects when the time is over, or with what says that the backend is away. */
async function connectUntilReady(target: GrpcTarget, address: string, signal: AbortSignal): Promise<Connection> {
  for (let failures = 1; ; failures++) {
    try {
      return await connectOnce(target, address, signal);
    } catch (error: unknown) {
      if (signal.aborted || isAway(error) || isOwnFault(error)) throw error;
    }
    const delayMs = withJitter(backoffDelayMs(RECONNECT, failures), 0.2, target.random);
    await target.clock.sleep(delayMs, { signal });
  }
}

/** Ready once the server has sent its settings: who accepts and says nothing, or speaks something else, is not connected. */
async function connectOnce(
  { dialer, podIP, port }: GrpcTarget,
  address: string,
  signal: AbortSignal,
): Promise<Connection> {
  const stream = await dialer.open({ host: podIP, toHost: false }, port, signal);
  const session = openSession(stream, address);
  const ready = new Promise<void>((resolve, reject) => {
    session.once('remoteSettings', () => resolve());
    session.on('error', reject);
    session.on('close', () => reject(new Error('EOF')));
    // What is wrong with the way says more than what HTTP/2 makes of it.
    stream.on('error', reject);
  });
  try {
    await untilAborted(ready, signal);
    return { session, stream };
  } catch (error: unknown) {
    session.destroy();
    stream.destroy();
    throw error;
  }
}

function openSession(stream: Duplex, address: string): ClientHttp2Session {
  const session = connect(`http://${address}`, {
    createConnection: () => stream,
    settings: { enablePush: false },
    // Settings, pings and headers of a server that means no good stay within this (in MB).
    maxSessionMemory: 1,
  });
  session.on('close', () => stream.destroy());
  // Streams of providers allow half-open, so an end of the server's side alone closes nothing. What came before it is told first.
  stream.once('end', () => setImmediate(() => session.destroy()));
  // A server that goes away ends the call, which tells.
  session.on('goaway', (code) => {
    if (code !== constants.NGHTTP2_NO_ERROR) session.destroy();
  });
  return session;
}

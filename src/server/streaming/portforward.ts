import type { Duplex, Readable, Writable } from 'node:stream';
import { type DialFacet, isProviderError, type PodUid } from '../../../providers/contract/index.ts';
import { untilAborted } from '../../util/abort.ts';
import { errorMessage } from '../../util/errors.ts';
import { isRecord } from '../../util/is-record.ts';

export interface ForwardTarget {
  /** Name of the pod, for messages. */
  readonly pod: string;
  readonly uid: PodUid;
  readonly dial: DialFacet;
}

/** The client's side of one forwarded connection. */
export interface ForwardClient {
  /** Its end is a FIN to the pod. */
  readonly input: Readable;
  /** Left open: whoever calls ends it. */
  readonly output: Writable;
  /** Aborts when the client has thrown this connection away, or is gone. */
  readonly signal: AbortSignal;
}

/**
 * Connects to the port and copies both ways, until the pod has no more to say or the client is gone. What the client still sends
 * after the pod's end is delivered as long as the pod takes it. The text of a failure, for the error stream; never rejects.
 */
export async function forward(target: ForwardTarget, port: number, client: ForwardClient): Promise<string | undefined> {
  const fail = (reason: string): string =>
    `error forwarding port ${port} to pod ${target.pod}, uid ${target.uid}: ${reason}`;
  const { signal } = client;
  const dialling = target.dial.dial(target.uid, { to: 'loopback', port }, { signal });
  let connection: Duplex;
  try {
    connection = await untilAborted(dialling, signal);
  } catch (error) {
    // Nobody waits any more, whatever the backend does.
    if (signal.aborted) dialling.then(discard, () => {});
    return signal.aborted ? undefined : fail(dialFailure(target, port, error));
  }
  const error = await splice(connection, client);
  return error === undefined ? undefined : fail(transferFailure(error));
}

function discard(late: Duplex): void {
  late.on('error', () => {}).destroy();
}

/** Resolves at the pod's end, or when the client is gone, or with what broke. */
function splice(connection: Duplex, { input, output, signal }: ForwardClient): Promise<unknown> {
  return new Promise((resolve) => {
    let podEnded = false;
    // Stays for ever: a socket may fail after everything has been said.
    connection.on('error', (error) => resolve(podEnded ? undefined : error));
    connection.once('end', () => {
      podEnded = true;
      resolve(undefined);
    });
    connection.once('close', () => {
      resolve(podEnded || signal.aborted ? undefined : new Error('the connection was closed'));
      signal.removeEventListener('abort', onGone);
      input.unpipe(connection).resume();
    });
    const onGone = (): void => {
      connection.destroy();
    };
    if (signal.aborted) onGone();
    else signal.addEventListener('abort', onGone, { once: true });
    connection.pipe(output, { end: false });
    input.pipe(connection);
  });
}

function dialFailure({ uid }: ForwardTarget, port: number, error: unknown): string {
  const message = errorMessage(error);
  if (!isProviderError(error, 'ConnectionRefused', 'Unreachable')) return message;
  return `failed to connect to localhost:${port} inside namespace "${uid}": dial tcp 127.0.0.1:${port}: ${message}`;
}

/** As Go says it. */
function transferFailure(error: unknown): string {
  const code = isRecord(error) ? error['code'] : undefined;
  if (code === 'ECONNRESET') return 'read: connection reset by peer';
  return code === 'EPIPE' ? 'write: broken pipe' : errorMessage(error);
}

import { isIP, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { CallOptions } from '../contract/index.ts';
import { abortError } from '../shared/abort-error.ts';
import { dialError } from './dial-errors.ts';

/** A way from this process to where pods are: TCP from here, a channel through SSH. Throws what `dial` throws. */
export type Reach = (host: string, port: number, options: CallOptions) => Promise<Duplex>;

/** Of a name with several addresses each one is tried for so long; Node gives them 250 ms, too little for a busy machine. */
const ATTEMPT_MS = 5_000;

/** From this process, which shares a network with the pods. */
export const reachByTcp: Reach = (host, port, { signal }) =>
  new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(abortError(signal));
      return;
    }
    const socket = new Socket({ allowHalfOpen: true });
    const onAbort = (): void => {
      socket.destroy(abortError(signal));
    };
    signal.addEventListener('abort', onAbort, { once: true });
    socket.once('close', () => signal.removeEventListener('abort', onAbort));
    // Stays: an error that comes later, while nobody listens, must not end the process.
    socket.on('error', (error) => reject(signal.aborted ? abortError(signal) : dialError(error, host)));
    socket.setNoDelay(true);
    // A name is not looked up for what is an address already, whatever a resolver makes of it.
    const family = isIP(host);
    const how = family === 0 ? { autoSelectFamilyAttemptTimeout: ATTEMPT_MS } : { family };
    socket.connect({ host, port, ...how }, () => resolve(socket));
  });

/** From now on the stream is the dial's: it goes with the signal, and a late error of it ends nothing. */
export function adopted<S extends Duplex>(stream: S, signal: AbortSignal): S {
  const onAbort = (): void => {
    stream.destroy(abortError(signal));
  };
  stream.on('error', () => {});
  stream.once('close', () => signal.removeEventListener('abort', onAbort));
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  return stream;
}

import { Duplex } from 'node:stream';

/** Status codes of RST_STREAM. */
export const RST = {
  protocolError: 1,
  refusedStream: 3,
  cancel: 5,
  internalError: 6,
} as const;

/**
 * One stream of a SPDY connection: reading ends with the peer's FIN, `end()` sends ours, both independently.
 * It always has an 'error' listener of its own, so nobody is killed by an error that comes early or late.
 * A stream that is destroyed before both sides are finished resets the peer's (CANCEL).
 */
export declare class SpdyStream extends Duplex {
  /** Odd; rises within a connection. */
  readonly id: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** Sends SYN_REPLY, once; the client waits for it 30 s. The first write does it too: data before the reply would be lost. */
  accept(): void;
  /** Sends RST_STREAM and destroys the stream without an error. */
  reset(code?: number): void;
}

import type { Duplex } from 'node:stream';
import type { Clock } from '../../../util/clock.ts';
import type { SpdyStream } from './stream.ts';

export interface SpdyOptions {
  readonly clock: Clock;
  /** Aborted: as `close()`. */
  readonly signal?: AbortSignal;
  /** Called for every new stream, in order of arrival; it accepts or resets, now or later. Nothing may throw: that ends the connection. */
  readonly onStream: (stream: SpdyStream) => void;
  /** A PING of the peer has been answered. */
  readonly onPing?: () => void;
  /** Without any frame from the peer or data to it for this long, the connection is closed. Default 4 h. */
  readonly idleTimeoutMs?: number;
  /** How long `close()` waits for the peer before the socket is destroyed. Default 5 s. */
  readonly lingerMs?: number;
  /** Streams open at once; more are refused. Default 10,000. */
  readonly maxStreams?: number;
}

/**
 * The server's side of a SPDY/3.1 connection, as Kubernetes uses it (no flow control: a slow reader of one stream
 * stops the socket, and with it the other streams).
 * `socket` is any Duplex that has just been upgraded (TLS socket, WebSocket tunnel), `head` what was read beyond the request.
 * Nothing is sent before the client's first frame. The socket belongs to the connection from here on.
 */
export declare class SpdyConnection {
  constructor(socket: Duplex, head: Buffer, options: SpdyOptions);
  /** Aborted when the connection ends, for whatever reason (an Error): own close, peer gone, GOAWAY and no stream left, protocol error, idle. */
  readonly signal: AbortSignal;
  /** Resolves when the socket is closed; never rejects. */
  readonly closed: Promise<void>;
  /** Streams not yet closed in both directions. */
  get openStreams(): number;
  /** Resets what is open, sends GOAWAY, half-closes the socket, discards input until the peer closes (5 s), then destroys. */
  close(): Promise<void>;
}

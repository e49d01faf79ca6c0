import { WebSocket } from 'ws';
import type { Clock } from '../../../util/clock.ts';
import { CLIENT_PROBE_MS } from '../client-probe.ts';

/** A client that pings without reading the answers would otherwise fill the memory with them. */
const MAX_UNSENT_BYTES = 4 << 20;
const LINGER_MS = 5_000;

/**
 * Answers pings, and keeps finding out about dead clients: a socket that is not read from never tells that the other side has
 * closed it, only a write does (streaming reference, 7.9).
 */
export class Liveness {
  readonly #webSocket: WebSocket;
  readonly #clock: Pick<Clock, 'timer'>;
  /** Who cannot take more; the socket is read while there is nobody. */
  readonly #full = new Set<object>();
  #stopProbe: (() => void) | undefined;
  #stopLinger: (() => void) | undefined;

  constructor(webSocket: WebSocket, clock: Pick<Clock, 'timer'>) {
    this.#webSocket = webSocket;
    this.#clock = clock;
    webSocket.on('ping', (data) => {
      if (webSocket.readyState === WebSocket.OPEN && webSocket.bufferedAmount < MAX_UNSENT_BYTES) {
        webSocket.pong(data, false, ignore);
      }
    });
    // Errors of a peer that speaks another language, or is gone: 'close' follows, and that is what counts.
    webSocket.on('error', ignore);
    webSocket.on('close', () => {
      this.#stopProbe?.();
      this.#stopLinger?.();
    });
  }

  /** Stops reading from the socket, and asks now and then whether the client is still there. */
  pause(reader: object): void {
    if (this.#webSocket.readyState !== WebSocket.OPEN) return;
    this.#full.add(reader);
    if (this.#webSocket.isPaused) return;
    this.#webSocket.pause();
    this.#probeLater();
  }

  resume(reader: object): void {
    if (this.#full.delete(reader) && this.#full.size === 0) this.#flow();
  }

  /** A clean close; the client's own one is read, or else the connection is cut. */
  close(code: number): void {
    if (this.#stopLinger !== undefined || this.#webSocket.readyState === WebSocket.CLOSED) return;
    this.#full.clear();
    this.#flow();
    this.#stopLinger = this.#clock.timer(LINGER_MS, () => this.#webSocket.terminate());
    this.#webSocket.close(code);
  }

  #flow(): void {
    this.#stopProbe?.();
    this.#stopProbe = undefined;
    if (this.#webSocket.isPaused) this.#webSocket.resume();
  }

  #probeLater(): void {
    this.#stopProbe = this.#clock.timer(CLIENT_PROBE_MS, () => {
      if (this.#webSocket.readyState !== WebSocket.OPEN) return;
      if (this.#webSocket.bufferedAmount < MAX_UNSENT_BYTES) this.#webSocket.ping('', false, ignore);
      this.#probeLater();
    });
  }
}

function ignore(): void {}

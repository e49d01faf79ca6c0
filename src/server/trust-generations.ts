import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Server } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

/**
 * A client's certificate is judged once, when its connection begins. When the authorities change, every connection of before
 * ends: at once where nothing is asked, else after the answer. What streams already goes on, as on the kubelet.
 */
export class TrustGenerations {
  readonly #server: Server;
  #current = new WeakSet<Socket>();

  constructor(server: Server) {
    this.#server = server;
    server.on('secureConnection', (socket: TLSSocket) => this.#current.add(socket));
    server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      response.once('close', () => {
        if (!this.#current.has(socket)) socket.destroySoon();
      });
    });
  }

  /** Called when new connections are judged by other authorities. */
  next(): void {
    this.#current = new WeakSet();
    this.#server.closeIdleConnections();
  }
}

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { type Refusal, refuse } from '../answers.ts';

const MAX_MESSAGE_BYTES = 32 << 20;

/** What is wrong with the request apart from its subprotocols, in the words of the kubelet's library. */
export function checkHandshake({ method, headers }: Pick<IncomingMessage, 'method' | 'headers'>): Refusal | undefined {
  if (method !== 'GET') return refuse(405, 'bad method');
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers['sec-websocket-key'] ?? '')) {
    return refuse(400, 'mismatch challenge/response');
  }
  if (headers['sec-websocket-version'] !== '13') {
    return refuse(400, 'missing or bad WebSocket Version', [['Sec-Websocket-Version', '13']]);
  }
  return undefined;
}

/** The handshake of the `ws` package, with the subprotocol in our hands: the package refuses one with a slash. */
export class WebSocketAcceptor {
  readonly #server: WebSocketServer;
  readonly #chosen = new WeakMap<IncomingMessage, string>();

  constructor() {
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: MAX_MESSAGE_BYTES,
      // Answers to pings are ours to bound, see ./liveness.ts.
      autoPong: false,
    });
    this.#server.on('headers', (lines, request) => {
      const chosen = this.#chosen.get(request);
      if (chosen !== undefined && chosen !== '') lines.push(`Sec-WebSocket-Protocol: ${chosen}`);
    });
  }

  /**
   * For a request that `checkHandshake` has nothing against. `attach` runs before the first message can come, and must not
   * throw. Undefined: the client was gone before.
   */
  accept<T>(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    { subprotocol, attach }: { readonly subprotocol: string; readonly attach: (webSocket: WebSocket) => T },
  ): T | undefined {
    this.#chosen.set(request, subprotocol);
    delete request.headers['sec-websocket-protocol'];
    let attached: T | undefined;
    this.#server.handleUpgrade(request, socket, head, (webSocket) => {
      attached = attach(webSocket);
    });
    return attached;
  }
}

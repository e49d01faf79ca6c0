import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { goQuote } from '../../util/go-quote.ts';
import { type Refusal, refuse } from './answers.ts';
import {
  chooseCommandSubprotocol,
  chooseForwardSubprotocol,
  chooseTunnel,
  negotiateSpdy,
  offeredSubprotocols,
  requestedTransport,
  SPDY_COMMAND_PROTOCOLS,
  SPDY_FORWARD_PROTOCOLS,
  type Transport,
  TUNNEL_PREFIX,
} from './negotiation.ts';
import { checkHandshake } from './ws/accept.ts';

export interface Negotiated {
  readonly type: 'negotiated';
  readonly transport: Transport;
  /** As the answer names it; empty where it names none. */
  readonly protocol: string;
  /** SPDY inside of a WebSocket. */
  readonly tunnelled: boolean;
}

/** A port-forward that speaks in channels, and so has to name its ports in the query. */
export function wantsChannels(request: IncomingMessage): boolean {
  return requestedTransport(request) === 'websocket' && chooseTunnel(offeredSubprotocols(request)) === undefined;
}

export function negotiate(request: IncomingMessage, purpose: 'command' | 'forward'): Negotiated | Refusal {
  const transport = requestedTransport(request);
  if (transport === undefined) {
    return refuse(400, `unable to upgrade: missing upgrade headers in request: ${showHeaders(request)}`);
  }
  if (transport === 'spdy') {
    const chosen = negotiateSpdy(request, purpose === 'command' ? SPDY_COMMAND_PROTOCOLS : SPDY_FORWARD_PROTOCOLS);
    if (chosen.type === 'refused') return chosen;
    return { type: 'negotiated', transport, protocol: chosen.protocol, tunnelled: false };
  }
  const wrong = checkHandshake(request);
  if (wrong !== undefined) return wrong;
  const offered = offeredSubprotocols(request);
  const inner = purpose === 'forward' ? chooseTunnel(offered) : undefined;
  if (inner?.type === 'refused') return inner;
  if (inner !== undefined) {
    return { type: 'negotiated', transport, protocol: `${TUNNEL_PREFIX}${inner.protocol}`, tunnelled: true };
  }
  const chosen = purpose === 'forward' ? chooseForwardSubprotocol(offered) : chooseCommandSubprotocol(offered);
  if (chosen.type === 'refused') return chosen;
  return { type: 'negotiated', transport, protocol: chosen.protocol, tunnelled: false };
}

/**
 * Nothing may be sent after it before the client's first frame: a client of Go throws away what comes in the same record
 * (streaming reference, section 2).
 */
export function switchToSpdy(socket: Duplex, protocol: string): void {
  const lines = [
    'HTTP/1.1 101 Switching Protocols',
    'Connection: Upgrade',
    'Upgrade: SPDY/3.1',
    `X-Stream-Protocol-Version: ${protocol}`,
  ];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
}

/** As Go prints them (%#v), but for credentials. */
function showHeaders({ headersDistinct }: IncomingMessage): string {
  const shown = Object.entries(headersDistinct)
    .filter(([name]) => !['host', 'authorization', 'cookie'].includes(name))
    .map(([name, values = []]) => `${goQuote(canonical(name))}:[]string{${values.map(goQuote).join(', ')}}`)
    .sort();
  return `http.Header{${shown.join(', ')}}`;
}

function canonical(name: string): string {
  return name.replace(/(^|-)[a-z]/g, (start) => start.toUpperCase());
}

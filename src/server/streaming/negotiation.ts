import type { IncomingMessage } from 'node:http';
import { type Refusal, refuse } from './answers.ts';

/** The transport that the request asks to switch to. */
export type Transport = 'websocket' | 'spdy';

export function requestedTransport({ headers }: Pick<IncomingMessage, 'headers'>): Transport | undefined {
  if (!(headers.connection ?? '').toLowerCase().includes('upgrade')) return undefined;
  const upgrade = (headers.upgrade ?? '').toLowerCase();
  if (upgrade === 'websocket') return 'websocket';
  return upgrade.includes('spdy/3.1') ? 'spdy' : undefined;
}

export interface Chosen {
  readonly type: 'chosen';
  readonly protocol: string;
}

/** Version 5 is offered over SPDY too, and is nothing there (streaming reference, section 1). */
export const SPDY_COMMAND_PROTOCOLS = ['v4.channel.k8s.io', 'v3.channel.k8s.io', 'v2.channel.k8s.io', 'channel.k8s.io'];
export const SPDY_FORWARD_PROTOCOLS = ['portforward.k8s.io'];

const VERSION_HEADER = 'X-Stream-Protocol-Version';

/** The first of the client's list that we know. */
export function negotiateSpdy(request: IncomingMessage, known: readonly string[]): Chosen | Refusal {
  const values = headerValues(request, VERSION_HEADER);
  const offered = values.flatMap(splitList);
  if (values.length === 0) {
    const count = Object.keys(request.headers).filter((name) => name !== 'host').length;
    return refuse(400, `unable to upgrade: header ${VERSION_HEADER} does not exist in request with ${count} headers`);
  }
  if (offered.length === 0) {
    return refuse(
      400,
      `unable to upgrade: header ${VERSION_HEADER} contains [${values.join(' ')}], but no valid protocols`,
    );
  }
  return firstKnown(offered, known);
}

function firstKnown(offered: readonly string[], known: readonly string[]): Chosen | Refusal {
  const protocol = offered.find((name) => known.includes(name));
  if (protocol !== undefined) return { type: 'chosen', protocol };
  return refuse(
    403,
    `unable to upgrade: unable to negotiate protocol: client supports [${offered.join(' ')}], server accepts [${known.join(' ')}]`,
    known.map((name) => ['X-Accepted-Stream-Protocol-Versions', name]),
  );
}

/** A token that came as one of them has been taken off by now (../bearer.ts). */
export function offeredSubprotocols({ headers }: Pick<IncomingMessage, 'headers'>): readonly string[] {
  return splitList(headers['sec-websocket-protocol'] ?? '');
}

const V5 = 'v5.channel.k8s.io';
/** Without an offer it is channel.k8s.io, without a word of it in the answer: the empty name. */
const COMMAND_SUBPROTOCOLS = [
  'v4.channel.k8s.io',
  'v4.base64.channel.k8s.io',
  'channel.k8s.io',
  'base64.channel.k8s.io',
];
const FORWARD_SUBPROTOCOLS = ['v4.channel.k8s.io', 'v4.base64.channel.k8s.io'];
const NO_SUBPROTOCOL: Refusal = refuse(403, '');

/** Version 5 goes before all others, whatever the order of the offer, as in the kubelet. */
export function chooseCommandSubprotocol(offered: readonly string[]): Chosen | Refusal {
  return offered.includes(V5) ? { type: 'chosen', protocol: V5 } : choose(offered, COMMAND_SUBPROTOCOLS);
}

export function chooseForwardSubprotocol(offered: readonly string[]): Chosen | Refusal {
  return choose(offered, FORWARD_SUBPROTOCOLS);
}

function choose(offered: readonly string[], known: readonly string[]): Chosen | Refusal {
  if (offered.length === 0) return { type: 'chosen', protocol: '' };
  const protocol = offered.find((name) => known.includes(name));
  return protocol === undefined ? NO_SUBPROTOCOL : { type: 'chosen', protocol };
}

/** SPDY inside of WebSocket messages. */
export const TUNNEL_PREFIX = 'SPDY/3.1+';

/** Undefined: no tunnel is asked for. What is chosen is the name within the tunnel. */
export function chooseTunnel(offered: readonly string[]): Chosen | Refusal | undefined {
  const inner = offered
    .filter((name) => name.startsWith(TUNNEL_PREFIX) && name.endsWith('.k8s.io'))
    .map((name) => name.slice(TUNNEL_PREFIX.length));
  return inner.length === 0 ? undefined : firstKnown(inner, SPDY_FORWARD_PROTOCOLS);
}

/** 1 for channel.k8s.io and for no name at all. */
export function protocolVersion(protocol: string): number {
  return Number(/^v(\d)\./.exec(protocol)?.[1] ?? 1);
}

/** `headers` of Node joins some names and drops others that are repeated; the raw list has each line. */
function headerValues({ rawHeaders }: IncomingMessage, name: string): readonly string[] {
  const wanted = name.toLowerCase();
  return rawHeaders.flatMap((header, index) =>
    index % 2 === 0 && header.toLowerCase() === wanted ? [rawHeaders[index + 1] ?? ''] : [],
  );
}

function splitList(value: string): readonly string[] {
  return value
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

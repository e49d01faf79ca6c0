import { request as httpRequest, type IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { type TLSSocket, connect as tlsConnect } from 'node:tls';
import { untilAborted } from '../../util/abort.ts';
import { MAX_OUTPUT_BYTES } from './attempt.ts';

/** Far more than any server needs, far less than Go's 10 MiB: a thousand probes must not fill the memory. */
export const MAX_HEADER_BYTES = 1024 * 1024;

/** `HTTP/1.1 100 Continue` and the blank line. */
const STATUS_LINE_BYTES = 25;
/** As Node's parser calls it. */
export const HEADER_OVERFLOW = 'HPE_HEADER_OVERFLOW';

interface CallOptions {
  readonly signal: AbortSignal;
}

/** TLS over an open stream. Certificates are not verified; the server's name is sent unless it is an address (as Go does). */
export function startTls(stream: Duplex, host: string, { signal }: CallOptions): Promise<TLSSocket> {
  const started = new Promise<TLSSocket>((resolve, reject) => {
    const secure = tlsConnect({
      socket: stream,
      servername: isIP(host) === 0 ? host : '',
      rejectUnauthorized: false,
      ALPNProtocols: ['http/1.1'],
      // Old keys and hashes are as good as any where nothing is verified.
      ciphers: 'DEFAULT:@SECLEVEL=0',
    });
    secure.on('error', reject);
    secure.on('close', () => reject(new Error('EOF')));
    secure.once('secureConnect', () => resolve(secure));
  });
  return untilAborted(started, signal);
}

/** One GET over a stream of its own: the head of the answer. Who opened the stream destroys it. */
export function exchange(
  stream: Duplex,
  target: string,
  headers: readonly string[],
  { signal }: CallOptions,
): Promise<IncomingMessage> {
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    const request = httpRequest({
      createConnection: () => stream,
      method: 'GET',
      path: target,
      maxHeaderSize: MAX_HEADER_BYTES,
      // Go is as lenient with servers.
      insecureHTTPParser: true,
    });
    // One by one, since a whole list is sent at once, with a header Connection of Node's own.
    request.removeHeader('Host');
    request.removeHeader('Connection');
    for (const [name, values] of grouped(headers)) request.setHeader(name, values);
    request.on('error', reject);
    let interim = 0;
    // All heads that come before the answer's own count as its headers (net/http: readResponse).
    request.on('information', ({ rawHeaders }) => {
      interim += STATUS_LINE_BYTES + rawHeaders.join(': ').length;
      if (interim > MAX_HEADER_BYTES)
        stream.destroy(Object.assign(new Error('too many heads'), { code: HEADER_OVERFLOW }));
    });
    request.on('response', resolve);
    // A server that switches protocols unasked has answered 101.
    request.on('upgrade', resolve);
    request.end();
  });
  return untilAborted(answered, signal);
}

/** Names and values in turn, to the values of each name. */
function grouped(headers: readonly string[]): ReadonlyMap<string, string[]> {
  const values = new Map<string, string[]>();
  for (const [i, name] of headers.entries()) {
    const value = headers[i + 1];
    if (i % 2 === 0 && value !== undefined) values.set(name, [...(values.get(name) ?? []), value]);
  }
  return values;
}

export interface Body {
  /** Of a longer one the beginning. */
  readonly text: string;
  /** It broke off. */
  readonly error?: unknown;
}

/** Reads as much of the body as counts, and no more. */
export async function readBody(response: IncomingMessage, { signal }: CallOptions): Promise<Body> {
  const chunks: Buffer[] = [];
  const read = new Promise<void>((resolve, reject) => {
    let length = 0;
    response.on('data', (chunk: Buffer) => {
      chunks.push(chunk);
      length += chunk.length;
      if (length < MAX_OUTPUT_BYTES) return;
      response.pause();
      resolve();
    });
    response.on('end', resolve);
    // Node has no words of its own for what broke: that is known to the stream, if to anybody.
    response.on('error', () => reject(new Error('unexpected EOF')));
    response.on('close', () => reject(new Error('unexpected EOF')));
  });
  const text = (): string => Buffer.concat(chunks).subarray(0, MAX_OUTPUT_BYTES).toString('utf8');
  try {
    await untilAborted(read, signal);
    return { text: text() };
  } catch (error: unknown) {
    return { text: text(), error };
  }
}

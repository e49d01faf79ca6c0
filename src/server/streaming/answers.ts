import { STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';

/** An answer to a request for a stream that is not "101 Switching Protocols" (streaming reference, section 10). */
export interface Refusal {
  readonly type: 'refused';
  readonly code: number;
  readonly body: string;
  readonly headers?: readonly (readonly [name: string, value: string])[];
}

export function refuse(code: number, body: string, headers: Refusal['headers'] = []): Refusal {
  return { type: 'refused', code, body, ...(headers.length > 0 && { headers }) };
}

/**
 * The whole answer, as bytes. The connection does not outlive it: the parser of HTTP has let go of a socket that asked for an
 * upgrade, and cannot be given it back.
 */
function renderRefusal({ code, body, headers = [] }: Refusal, now: number): string {
  const lines = [
    `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? 'Error'}`,
    ...headers.map(([name, value]) => `${name}: ${value}`),
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    `Date: ${new Date(now).toUTCString()}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/**
 * Writes the answer and closes. What the client still sends is read and thrown away: a socket that is closed over unread bytes
 * is reset, and the answer may be lost with it. Ends without the client's help when `destroy` is called (by a timer of the caller).
 */
export function answer(socket: Duplex, refusal: Refusal, now: number): void {
  if (socket.destroyed) return;
  socket.resume();
  socket.once('end', () => socket.destroy());
  socket.end(renderRefusal(refusal, now));
}

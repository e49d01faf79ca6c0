import { errorMessage } from '../../util/errors.ts';
import { goQuote } from '../../util/go-quote.ts';
import { HEADER_OVERFLOW, MAX_HEADER_BYTES } from './http-exchange.ts';

/** What Go's client says of a connection that was open, from what Node says. `address` is the far end, as `host:port`. */
export function connectionErrorText(error: unknown, address: string): string {
  const code = property(error, 'code') ?? '';
  // Node's own words for a server that closed before it had answered; a reset of the socket names its system call.
  if (code === 'ECONNRESET' && property(error, 'syscall') === undefined) return 'EOF';
  const network = NETWORK[code];
  if (network !== undefined) return `${network.op} tcp ${address}: ${network.op}: ${network.text}`;
  if (code === HEADER_OVERFLOW) return `net/http: server response headers exceeded ${MAX_HEADER_BYTES} bytes; aborted`;
  if (code.startsWith('HPE_')) return malformed(error);
  if (code === 'ERR_SSL_WRONG_VERSION_NUMBER' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG')
    return 'http: server gave HTTP response to HTTPS client';
  if (code.startsWith('ERR_SSL_')) return tlsText(code);
  return errorMessage(error);
}

const NETWORK: Readonly<Record<string, { readonly op: string; readonly text: string }>> = {
  ECONNRESET: { op: 'read', text: 'connection reset by peer' },
  EPIPE: { op: 'write', text: 'broken pipe' },
  ETIMEDOUT: { op: 'read', text: 'connection timed out' },
  EHOSTUNREACH: { op: 'read', text: 'no route to host' },
};

function malformed(error: unknown): string {
  const packet = isPacket(error) ? error.rawPacket.subarray(0, 256).toString('latin1') : '';
  const line = packet.split(/\r?\n/, 1)[0] ?? '';
  return `net/http: HTTP/1.x transport connection broken: malformed HTTP response ${goQuote(line)}`;
}

/** An alert of the server (`ERR_SSL_TLSV1_ALERT_INTERNAL_ERROR`), or whatever OpenSSL does not like. */
function tlsText(code: string): string {
  const alert = /_ALERT_(\w+)$/.exec(code)?.[1];
  if (alert !== undefined) return `remote error: tls: ${words(alert)}`;
  return `tls: ${words(code.slice('ERR_SSL_'.length))}`;
}

function words(constant: string): string {
  return constant.toLowerCase().replaceAll('_', ' ');
}

function property(error: unknown, name: 'code' | 'syscall'): string | undefined {
  if (!(error instanceof Error) || !(name in error)) return undefined;
  // Node's errors carry more than their type says.
  const value: unknown = (error as Error & Record<string, unknown>)[name];
  return typeof value === 'string' ? value : undefined;
}

function isPacket(error: unknown): error is { readonly rawPacket: Buffer } {
  return error instanceof Error && 'rawPacket' in error && Buffer.isBuffer(error.rawPacket);
}

import { STATUS_CODES } from 'node:http';
import { goQuote } from '../../util/go-quote.ts';

/** Names of gRPC's codes, as Go prints them. */
const CODES = [
  'OK',
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
];

export interface GrpcStatus {
  /** A name of CODES, or `Code(17)`. */
  readonly code: string;
  readonly message: string;
}

export function statusOfCode(code: number, message: string): GrpcStatus {
  return { code: CODES[code] ?? `Code(${code})`, message };
}

/** As Go prints the error of a call. */
export function statusText({ code, message }: GrpcStatus): string {
  return `rpc error: code = ${code} desc = ${message}`;
}

/** `grpc-message` is percent-encoded UTF-8; what is no valid escape stays. */
export function decodeMessage(text: string): string {
  const bytes = Buffer.from(text, 'latin1')
    .toString('latin1')
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}

const OF_HTTP: Readonly<Record<number, string>> = {
  400: 'Internal',
  401: 'Unauthenticated',
  403: 'PermissionDenied',
  404: 'Unimplemented',
  429: 'Unavailable',
  502: 'Unavailable',
  503: 'Unavailable',
  504: 'Unavailable',
};

/** A server that speaks HTTP/2 and not gRPC (grpc-go: HTTPStatusConvTab). */
export function statusOfHttp(status: number, contentType: string | undefined): GrpcStatus {
  const type =
    contentType === undefined
      ? 'malformed header: missing HTTP content-type'
      : `transport: received unexpected content-type ${goQuote(contentType)}`;
  const unexpected = `unexpected HTTP status code received from server: ${status} (${STATUS_CODES[status] ?? ''})`;
  return { code: OF_HTTP[status] ?? 'Unknown', message: `${unexpected}; ${type}` };
}

/** Of a stream that the server has reset, by HTTP/2 error code (grpc-go: http2ErrConvTab). */
const OF_RESET: Readonly<Record<number, readonly [name: string, code: string]>> = {
  0: ['NO_ERROR', 'Internal'],
  1: ['PROTOCOL_ERROR', 'Internal'],
  2: ['INTERNAL_ERROR', 'Internal'],
  3: ['FLOW_CONTROL_ERROR', 'ResourceExhausted'],
  4: ['SETTINGS_TIMEOUT', 'Internal'],
  5: ['STREAM_CLOSED', 'Internal'],
  6: ['FRAME_SIZE_ERROR', 'Internal'],
  7: ['REFUSED_STREAM', 'Unavailable'],
  8: ['CANCEL', 'Canceled'],
  9: ['COMPRESSION_ERROR', 'Internal'],
  10: ['CONNECT_ERROR', 'Internal'],
  11: ['ENHANCE_YOUR_CALM', 'ResourceExhausted'],
  12: ['INADEQUATE_SECURITY', 'PermissionDenied'],
  13: ['HTTP_1_1_REQUIRED', 'Internal'],
};

export function statusOfReset(code: number): GrpcStatus {
  const [name, status] = OF_RESET[code] ?? [`unknown error code 0x${code.toString(16)}`, 'Unknown'];
  return { code: status, message: `stream terminated by RST_STREAM with error code: ${name}` };
}

import { type ClientHttp2Session, type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2';
import { untilAborted } from '../../util/abort.ts';
import { decodeMessage, type GrpcStatus, statusOfCode, statusOfHttp, statusOfReset } from './grpc-status.ts';
import { decodeResponse, encodeRequest, MAX_MESSAGE_BYTES } from './grpc-wire.ts';

export interface HealthCall {
  readonly authority: string;
  readonly service: string;
  readonly userAgent: string;
  readonly timeoutMs: number;
}

export type HealthResult =
  | { readonly type: 'answered'; readonly status: number }
  | { readonly type: 'failed'; readonly status: GrpcStatus };

/** One unary call. Rejects when the connection breaks, or with the signal's reason. */
export async function checkHealth(
  session: ClientHttp2Session,
  call: HealthCall,
  { signal }: { readonly signal: AbortSignal },
): Promise<HealthResult> {
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: 'POST',
    [constants.HTTP2_HEADER_SCHEME]: 'http',
    [constants.HTTP2_HEADER_AUTHORITY]: call.authority,
    [constants.HTTP2_HEADER_PATH]: '/grpc.health.v1.Health/Check',
    'content-type': 'application/grpc',
    'user-agent': call.userAgent,
    te: 'trailers',
    // At most eight digits.
    'grpc-timeout': `${Math.min(call.timeoutMs, 99_999_999)}m`,
  });
  stream.end(encodeRequest(call.service));
  return untilAborted(settled(session, stream), signal);
}

function settled(session: ClientHttp2Session, stream: ClientHttp2Stream): Promise<HealthResult> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    let trailers: IncomingHttpHeaders | undefined;
    let plain: GrpcStatus | undefined;
    stream.on('response', (headers, flags) => {
      const status = headers[':status'] ?? 0;
      if (!isGrpc(headers['content-type'])) plain = statusOfHttp(status, headers['content-type']);
      // A call that fails at once has its status in the only headers there are.
      if ((flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0 || headers['grpc-status'] !== undefined) trailers = headers;
      if (plain !== undefined) stream.close(constants.NGHTTP2_PROTOCOL_ERROR);
    });
    stream.on('trailers', (headers) => {
      trailers = headers;
    });
    stream.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= MAX_MESSAGE_BYTES) chunks.push(chunk);
      else stream.close(constants.NGHTTP2_CANCEL);
    });
    // The end is told by 'close', which follows; without a listener the process would end.
    let broken: unknown;
    stream.on('error', (error) => {
      broken = error;
    });
    stream.on('close', () => {
      if (plain !== undefined) resolve({ type: 'failed', status: plain });
      else if (length > MAX_MESSAGE_BYTES) resolve(tooLarge(length));
      else if (trailers !== undefined) resolve(conclude(trailers, Buffer.concat(chunks)));
      else if (session.destroyed || session.closed) reject(new Error('EOF', { cause: broken }));
      else resolve({ type: 'failed', status: statusOfReset(stream.rstCode) });
    });
  });
}

function conclude(trailers: IncomingHttpHeaders, data: Buffer): HealthResult {
  const code = Number(trailers['grpc-status'] ?? Number.NaN);
  if (!Number.isInteger(code)) return failed('Internal', 'server closed the stream without sending trailers');
  if (code !== 0) {
    const message = decodeMessage(String(trailers['grpc-message'] ?? ''));
    return { type: 'failed', status: statusOfCode(code, message) };
  }
  if (data.length === 0) {
    const none = 'cardinality violation: received no response message from non-server-streaming RPC';
    return failed('Internal', none);
  }
  const decoded = decodeResponse(data);
  return decoded.type === 'bad' ? failed('Internal', decoded.text) : { type: 'answered', status: decoded.status };
}

function tooLarge(length: number): HealthResult {
  return failed('ResourceExhausted', `grpc: received message larger than max (${length} vs. ${MAX_MESSAGE_BYTES})`);
}

function failed(code: string, message: string): HealthResult {
  return { type: 'failed', status: { code, message } };
}

function isGrpc(contentType: string | undefined): boolean {
  return contentType !== undefined && /^application\/grpc(?:[+;]|$)/i.test(contentType);
}

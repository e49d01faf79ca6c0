/** The two messages of grpc.health.v1.Health/Check: one string field, one enum field. */

/** Nothing but a status is expected; grpc's own limit is 4 MiB. */
export const MAX_MESSAGE_BYTES = 64 * 1024;

/** HealthCheckRequest { service = 1 }, with the five bytes of a gRPC frame before it. */
export function encodeRequest(service: string): Buffer {
  const name = Buffer.from(service, 'utf8');
  const message = name.length === 0 ? name : Buffer.concat([Buffer.from([0x0a]), varint(name.length), name]);
  const frame = Buffer.alloc(5);
  frame.writeUInt32BE(message.length, 1);
  return Buffer.concat([frame, message]);
}

export type Decoded =
  | { readonly type: 'status'; readonly status: number }
  | { readonly type: 'bad'; readonly text: string };

/** HealthCheckResponse { status = 1 } out of what the server sent; other fields are passed over. */
export function decodeResponse(data: Buffer): Decoded {
  if (data.length < 5) return bad('unexpected EOF');
  if (data[0] !== 0) return bad('grpc: compressed flag set with identity or empty encoding');
  const length = data.readUInt32BE(1);
  const message = data.subarray(5, 5 + length);
  if (message.length < length) return bad('unexpected EOF');
  const status = readStatus(message);
  return status === undefined
    ? bad('grpc: error unmarshalling request: proto: cannot parse invalid wire-format data')
    : { type: 'status', status };
}

const NAMES = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];
export const SERVING = 1;

/** As the enum's String() does. */
export function statusName(status: number): string {
  return NAMES[status] ?? String(status);
}

function bad(text: string): Decoded {
  return { type: 'bad', text };
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80);
  return Buffer.from([...bytes, rest]);
}

/** Undefined for bytes that are no message. The last value of a repeated field counts; absent means 0. */
function readStatus(message: Buffer): number | undefined {
  let status = 0;
  let at = 0;
  while (at < message.length) {
    const tag = readVarint(message, at);
    if (tag === undefined) return undefined;
    const [key, start] = tag;
    const value = fieldEnd(message, start, key & 7);
    if (value === undefined || value.end > message.length || key < 8) return undefined;
    if (key === 0x08 && value.number !== undefined) status = value.number;
    at = value.end;
  }
  return status;
}

interface Field {
  readonly end: number;
  readonly number?: number;
}

function fieldEnd(message: Buffer, start: number, wireType: number): Field | undefined {
  switch (wireType) {
    case 0: {
      const read = readVarint(message, start);
      return read && { end: read[1], number: read[0] | 0 };
    }
    case 1:
      return { end: start + 8 };
    case 2: {
      const read = readVarint(message, start);
      return read && { end: read[1] + read[0] };
    }
    case 5:
      return { end: start + 4 };
    default:
      return undefined;
  }
}

function readVarint(bytes: Buffer, start: number): readonly [value: number, end: number] | undefined {
  let value = 0;
  for (let i = 0; i < 10; i++) {
    const byte = bytes[start + i];
    if (byte === undefined) return undefined;
    value += (byte & 0x7f) * 128 ** i;
    if (byte < 0x80) return [value, start + i + 1];
  }
  return undefined;
}

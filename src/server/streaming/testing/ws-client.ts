import { RawClient } from './raw-client.ts';

export interface Message {
  readonly opcode: number;
  readonly payload: Buffer;
}

export const TEXT = 1;
export const BINARY = 2;
export const CLOSE = 8;
export const PING = 9;
export const PONG = 10;

const KEY = 'dGhlIHNhbXBsZSBub25jZQ==';

export function webSocketHeaders(subprotocol?: string): readonly string[] {
  return [
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    `Sec-WebSocket-Key: ${KEY}`,
    ...(subprotocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${subprotocol}`]),
  ];
}

/** One frame as a client has to send it: masked. */
export function clientFrame(opcode: number, payload: Buffer, { fin = true } = {}): Buffer {
  const mask = Buffer.from('a1b2c3d4', 'hex');
  const short = payload.length < 126;
  const head = Buffer.alloc(short ? 2 : 10);
  head[0] = (fin ? 0x80 : 0) | opcode;
  head[1] = 0x80 | (short ? payload.length : 127);
  if (!short) head.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([head, mask, payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0))]);
}

/** A WebSocket client by hand, apart from the library under test. */
export class WebSocketClient {
  readonly raw: RawClient;
  /** The head of the server's answer. */
  readonly answer: string;

  private constructor(raw: RawClient, answer: string) {
    this.raw = raw;
    this.answer = answer;
  }

  static async open(port: number, path: string, subprotocol?: string): Promise<WebSocketClient> {
    const raw = await RawClient.open(port);
    raw.request(`GET ${path}`, webSocketHeaders(subprotocol));
    return new WebSocketClient(raw, await raw.head());
  }

  get subprotocol(): string | undefined {
    return /^Sec-WebSocket-Protocol: (.*)\r$/im.exec(this.answer)?.[1];
  }

  send(opcode: number, payload: Buffer | string | readonly number[]): void {
    const bytes = typeof payload === 'string' ? Buffer.from(payload, 'latin1') : Buffer.from(payload);
    this.raw.send(clientFrame(opcode, bytes));
  }

  receive(): Promise<Message> {
    return this.raw.take((bytes) => {
      const [first = 0, second = 0] = bytes;
      if (bytes.length < 2) return undefined;
      const start = second < 126 ? 2 : second === 126 ? 4 : 10;
      if (bytes.length < start) return undefined;
      const length = start === 2 ? second : start === 4 ? bytes.readUInt16BE(2) : Number(bytes.readBigUInt64BE(2));
      if (bytes.length < start + length) return undefined;
      const value = { opcode: first & 0x0f, payload: Buffer.from(bytes.subarray(start, start + length)) };
      return { value, length: start + length };
    });
  }

  /** All messages up to the close, which is answered; of a close only the code. */
  async rest(): Promise<readonly (readonly [opcode: number, payload: string | number])[]> {
    const seen: (readonly [number, string | number])[] = [];
    for (;;) {
      const { opcode, payload } = await this.receive();
      if (opcode !== CLOSE) {
        seen.push([opcode, payload.toString('latin1')]);
        continue;
      }
      this.raw.send(clientFrame(CLOSE, payload));
      return [...seen, [CLOSE, payload.readUInt16BE(0)]];
    }
  }
}

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  FrameParser,
  type FrameSink,
  finFrame,
  goAwayFrame,
  MAX_CONTROL_PAYLOAD,
  pingFrame,
  rstFrame,
  synReplyFrame,
  writeDataHeader,
} from './frames.ts';
import { FIRST_REPLY_BLOCK, HeaderInflater } from './headers.ts';
import { SpdyProtocolError } from './protocol-error.ts';
import { ClientFrames } from './testing/client-frames.ts';

/** What was seen, data of one stream joined, so that the cuts make no difference. */
class Recorder implements FrameSink {
  readonly events: string[] = [];
  dataBytes = 0;
  #data: { readonly id: number; text: string } | undefined;

  data(streamId: number, payload: Buffer): void {
    this.dataBytes += payload.length;
    if (this.#data?.id === streamId) this.#data.text += payload.toString('latin1');
    else {
      this.#closeData();
      this.#data = { id: streamId, text: payload.toString('latin1') };
    }
  }
  fin(streamId: number): void {
    this.#add(`fin ${streamId}`);
  }
  synStream(streamId: number, fin: boolean, block: Buffer): void {
    this.#add(`syn ${streamId} ${fin} ${block.toString('hex')}`);
  }
  headers(block: Buffer): void {
    this.#add(`headers ${block.toString('hex')}`);
  }
  rst(streamId: number): void {
    this.#add(`rst ${streamId}`);
  }
  ping(id: number): void {
    this.#add(`ping ${id}`);
  }
  goAway(): void {
    this.#add('goaway');
  }
  finish(): string[] {
    this.#closeData();
    return this.events;
  }
  #add(event: string): void {
    this.#closeData();
    this.events.push(event);
  }
  #closeData(): void {
    if (this.#data !== undefined) this.events.push(`data ${this.#data.id} ${this.#data.text}`);
    this.#data = undefined;
  }
}

function parse(...chunks: Buffer[]): string[] {
  const recorder = new Recorder();
  const parser = new FrameParser(recorder);
  for (const chunk of chunks) parser.push(chunk);
  return recorder.finish();
}

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(' ', ''), 'hex');
}

/** Cuts at the given places (any numbers), in order. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const at = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [...at, bytes.length].map((end, index) => bytes.subarray(index === 0 ? 0 : at[index - 1], end));
}

const FIRST_BLOCK = '78f9e3c6a7c26260606004a7b392a2d4c45c6851c29a0a0a6800000000ffff';

describe('frames captured from kubectl exec', () => {
  it('SYN_STREAM 1 gives its header block', () => {
    const parsed = parse(hex(`80030001 00000029 00000001 00000000 00 00 ${FIRST_BLOCK}`));
    expect(parsed).toEqual([`syn 1 false ${FIRST_BLOCK}`]);
  });

  it('stdin "hi" and its end are data and FIN of stream 3', () => {
    expect(parse(hex('00000003 00000003 68690a 00000003 01000000'))).toEqual(['data 3 hi\n', 'fin 3']);
  });

  it('SYN_REPLY 1 is 28 bytes with the constant block', () => {
    expect(synReplyFrame(1, FIRST_REPLY_BLOCK).toString('hex')).toBe(
      '80030002 00000014 00000001 780100 0400fbff 00000000 000000ffff'.replaceAll(' ', ''),
    );
  });
});

describe('encoding', () => {
  it('writes what the table of SPDY/3.1 says', () => {
    expect(rstFrame(5, 5).toString('hex')).toBe('80030003000000080000000500000005');
    expect(pingFrame(2).toString('hex')).toBe('800300060000000400000002');
    expect(goAwayFrame(7, 1).toString('hex')).toBe('80030007000000080000000700000001');
    expect(finFrame(9).toString('hex')).toBe('0000000901000000');
    const header = Buffer.alloc(8);
    writeDataHeader(header, 3, 0, 0xabcdef);
    expect(header.toString('hex')).toBe('0000000300abcdef');
  });
});

describe('parsing', () => {
  const client = new ClientFrames();
  const session = Buffer.concat([
    client.synStream(1, { streamtype: 'error' }),
    client.ping(1),
    client.synStream(3, { streamtype: 'stdin' }, { fin: true }),
    client.control(4, Buffer.alloc(12)), // SETTINGS
    client.data(3, 'hello'),
    client.control(9, Buffer.alloc(8)), // WINDOW_UPDATE
    client.data(3, ''),
    client.data(3, ' world', { fin: true }),
    client.headers(3, { late: 'yes' }),
    client.control(0x7777, Buffer.from('unknown')),
    client.control(0x7778, Buffer.alloc(0)),
    client.rst(1),
    client.goAway(),
  ]);
  const whole = parse(session);

  it('tells frames apart and skips what it does not know', () => {
    const kinds = whole.map((event) => event.slice(0, 6));
    expect(kinds).toEqual(['syn 1 ', 'ping 1', 'syn 3 ', 'data 3', 'fin 3', 'header', 'rst 1', 'goaway']);
    expect(whole).toContain('data 3 hello world');
  });

  it('gives the same wherever the bytes are cut in two', () => {
    for (let at = 0; at <= session.length; at++) {
      expect(parse(session.subarray(0, at), session.subarray(at))).toEqual(whole);
    }
  });

  it('gives the same byte by byte', () => {
    expect(parse(...Array.from(session, (_, index) => session.subarray(index, index + 1)))).toEqual(whole);
  });

  it('gives the same for any cuts of any frames', () => {
    const frame = fc.oneof(
      fc.record({ id: fc.integer({ min: 1, max: 9 }), text: fc.string(), fin: fc.boolean() }).map((data) => {
        return client.data(data.id, data.text, { fin: data.fin });
      }),
      fc.integer({ min: 0, max: 0xffff_ffff }).map((id) => client.ping(id)),
      fc.uint8Array({ maxLength: 40 }).map((payload) => client.control(4, Buffer.from(payload))),
      fc.integer({ min: 1, max: 9 }).map((id) => client.rst(id)),
    );
    fc.assert(
      fc.property(fc.array(frame), fc.array(fc.nat()), (frames, places) => {
        const bytes = Buffer.concat(frames);
        expect(parse(...cut(bytes, places))).toEqual(parse(bytes));
      }),
      { numRuns: 500 },
    );
  });

  it('passes the data of a frame of 16 MiB on as it arrives', () => {
    const recorder = new Recorder();
    const parser = new FrameParser(recorder);
    parser.push(hex('00000003 00ffffff'));
    parser.push(Buffer.from('first'));
    expect(recorder.dataBytes).toBe(5);
  });

  it('hands out data without copying it', () => {
    let seen: Buffer | undefined;
    const sink = Object.assign(new Recorder(), { data: (_: number, payload: Buffer) => (seen = payload) });
    const frame = client.data(1, 'abc');
    new FrameParser(sink).push(frame);
    expect(seen?.buffer).toBe(frame.buffer);
  });
});

describe('what a peer must not send', () => {
  it.each([
    ['SPDY version 2', '80020001 00000000'],
    ['data for stream 0', '00000000 00000001 00'],
    ['a SYN_STREAM without room for its fields', '80030001 00000009'],
    ['a RST_STREAM of the wrong length', '80030003 00000007'],
    ['a PING of the wrong length', '80030006 00000005'],
    ['an empty PING', '80030006 00000000'],
    ['a control frame above the limit', `80030001 00${(MAX_CONTROL_PAYLOAD + 1).toString(16).padStart(6, '0')}`],
    ['an unknown control frame above the limit', '80037777 00ffffff'],
  ])('%s is an error at its header', (_, bytes) => {
    expect(() => parse(hex(bytes))).toThrow(SpdyProtocolError);
  });

  it('random bytes end in nothing worse than a protocol error, and never hold more than was sent', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.array(fc.nat(), { maxLength: 5 }), (bytes, places) => {
        const recorder = new Recorder();
        const parser = new FrameParser(recorder);
        expectOnlyProtocolErrors(() => {
          for (const chunk of cut(Buffer.from(bytes), places)) parser.push(chunk);
        });
        expect(recorder.dataBytes).toBeLessThanOrEqual(bytes.length);
      }),
      { numRuns: 20_000 },
    );
  });

  it('nor do damaged sessions, header blocks inflated', () => {
    const client = new ClientFrames();
    const session = Buffer.concat([
      hex(`80030001 00000029 00000001 00000000 00 00 ${FIRST_BLOCK}`),
      hex('80030001 00000017 00000003 00000000 00 00 c22e555c92929907000000ffff'),
      client.data(3, 'some text'),
      client.ping(3),
      client.goAway(),
    ]);
    const damage = fc.array(fc.tuple(fc.nat({ max: session.length - 1 }), fc.nat({ max: 255 })), { maxLength: 3 });
    fc.assert(
      fc.property(damage, fc.array(fc.nat(), { maxLength: 4 }), (changes, places) => {
        const bytes = Buffer.from(session);
        for (const [at, value] of changes) bytes[at] = value;
        const inflater = new HeaderInflater();
        const sink = Object.assign(new Recorder(), {
          synStream: (_id: number, _fin: boolean, block: Buffer) => void inflater.inflate(block),
          headers: (block: Buffer) => void inflater.inflate(block),
        });
        const parser = new FrameParser(sink);
        expectOnlyProtocolErrors(() => {
          for (const chunk of cut(bytes, places)) parser.push(chunk);
        });
      }),
      { numRuns: 3000 },
    );
  });
});

function expectOnlyProtocolErrors(run: () => void): void {
  try {
    run();
  } catch (error: unknown) {
    expect(error).toBeInstanceOf(SpdyProtocolError);
  }
}

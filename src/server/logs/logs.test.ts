import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LogRecord } from '../../../providers/contract/index.ts';
import { canonicalTime, fixedTime, isTime } from './log-time.ts';
import { decodeLogOptions, type LogOptions } from './options.ts';
import { LogRenderer } from './render.ts';

const NOW = Date.parse('2026-01-02T03:04:05.678Z');
const T0 = '2026-01-02T03:04:05.1Z';

function decode(query: string) {
  return decodeLogOptions(new URLSearchParams(query), NOW);
}

describe('decodeLogOptions', () => {
  it.each<[string, Partial<LogOptions>]>([
    ['', {}],
    ['follow=true&previous=1&timestamps', { follow: true, previous: true, timestamps: true }],
    ['follow=false&previous=0&timestamps=FALSE', {}],
    ['follow=true&follow=false', { follow: true }],
    ['tailLines=0', { tailLines: 0 }],
    ['tailLines=10&tail=3', { tailLines: 3 }],
    ['tailLines=10&tail=all', {}],
    ['limitBytes=1', { limitBytes: 1 }],
    ['sinceSeconds=60', { since: '2026-01-02T03:03:05.678000000Z' }],
    ['sinceSeconds=9223372036854775807', { since: '1970-01-01T00:00:00.000000000Z' }],
    ['sinceTime=2026-01-02T03:04:05Z', { since: '2026-01-02T03:04:05.000000000Z' }],
    ['sinceTime=2026-01-02T03:04:05.123456789%2B02:00', { since: '2026-01-02T01:04:05.123456789Z' }],
    ['sinceTime=', {}],
    ['stream=All', { stream: 'All' }],
    ['container=c&insecureSkipTLSVerifyBackend=true&unknown=1', {}],
  ])('takes ?%s', (query, options) => {
    expect(decode(query)).toEqual({
      type: 'ok',
      options: { follow: false, previous: false, timestamps: false, ...options },
    });
  });

  it.each([
    'tailLines=',
    'tailLines=x',
    'tail=some',
    'tailLines=1.5',
    'limitBytes=99999999999999999999',
    'sinceSeconds=1m',
    'sinceTime=yesterday',
    'sinceTime=2026-02-31T00:00:00Z',
    'sinceTime=2026-01-02T25:00:00Z',
  ])('cannot decode ?%s', (query) => {
    expect(decode(query)).toEqual({ type: 'refused', code: 400, body: '{"message": "Unable to decode query."}' });
  });

  it.each([
    'tailLines=-1',
    'limitBytes=0',
    'limitBytes=-5',
    'sinceSeconds=0',
    'sinceSeconds=1&sinceTime=2026-01-02T03:04:05Z',
    'sinceSeconds=1&sinceTime=',
  ])('finds ?%s invalid', (query) => {
    expect(decode(query)).toEqual({ type: 'refused', code: 422, body: '{"message": "Invalid request."}' });
  });
});

describe('times', () => {
  it.each([
    ['2026-01-02T03:04:05Z', '2026-01-02T03:04:05.000000000Z', '2026-01-02T03:04:05.000000000Z'],
    ['2026-01-02T03:04:05.12Z', '2026-01-02T03:04:05.120000000Z', '2026-01-02T03:04:05.120000000Z'],
    ['2026-01-02T03:04:05.123456789Z', '2026-01-02T03:04:05.123456789Z', '2026-01-02T03:04:05.123456789Z'],
    ['2026-01-02T03:04:05.5+02:00', '2026-01-02T03:04:05.500000000+02:00', '2026-01-02T01:04:05.500000000Z'],
    ['2026-01-02T03:04:05+00:00', '2026-01-02T03:04:05.000000000Z', '2026-01-02T03:04:05.000000000Z'],
  ])('%s prints as %s and compares as %s', (text, fixed, canonical) => {
    expect([isTime(text), fixedTime(text), canonicalTime(text)]).toEqual([true, fixed, canonical]);
  });

  it('compare as texts in the order of time', () => {
    const instant = fc.date({ min: new Date(0), max: new Date('2100-01-01T00:00:00Z'), noInvalidDate: true });
    fc.assert(
      fc.property(instant, instant, (a, b) => {
        const order = Math.sign(a.getTime() - b.getTime());
        const [x, y] = [canonicalTime(a.toISOString()), canonicalTime(b.toISOString())];
        expect(x < y ? -1 : x > y ? 1 : 0).toBe(order);
      }),
    );
  });
});

const encoder = new TextEncoder();

function record(line: string, overrides: Partial<LogRecord> = {}): LogRecord {
  return { time: T0, stream: 'stdout', line: encoder.encode(line), partial: false, ...overrides };
}

function render(records: readonly LogRecord[], options: Partial<LogOptions> = {}): string {
  const renderer = new LogRenderer({ follow: false, previous: false, timestamps: false, ...options });
  return Buffer.concat(records.map((one) => renderer.render(one))).toString('utf8');
}

describe('LogRenderer', () => {
  const at = (second: number, line: string): LogRecord => record(line, { time: `2026-01-02T03:04:0${second}Z` });

  it('ends lines, puts both streams in one, and drops the carriage return of a terminal', () => {
    expect(render([record('out'), record('err', { stream: 'stderr' }), record(''), record('tty\r')])).toBe(
      'out\nerr\n\ntty\n',
    );
  });

  it('joins a line in pieces, with one time stamp', () => {
    const pieces = [record('ab', { partial: true }), record('cd', { partial: true }), record('ef'), record('next')];
    expect(render(pieces, { timestamps: true })).toBe(
      '2026-01-02T03:04:05.100000000Z abcdef\n2026-01-02T03:04:05.100000000Z next\n',
    );
  });

  it('leaves a last line without newline as it is', () => {
    expect(render([record('first'), record('no newline', { partial: true })])).toBe('first\nno newline');
  });

  it('counts records before it looks at their time', () => {
    const records = [at(1, 'a'), at(2, 'b'), at(3, 'c')];
    const since = '2026-01-02T03:04:02.000000000Z';
    expect(render(records, { since })).toBe('b\nc\n');
    expect(render(records, { since, tailLines: 2 })).toBe('b\n');
    expect(render(records, { since, tailLines: 2, follow: true })).toBe('b\nc\n');
  });

  it('counts time stamps into limitBytes, and cuts within a line', () => {
    expect(render([record('line 1'), record('line 2')], { limitBytes: 7 })).toBe('line 1\n');
    expect(render([record('line 1')], { limitBytes: 33, timestamps: true })).toBe('2026-01-02T03:04:05.100000000Z li');
  });

  const line = fc.string({ maxLength: 20 }).filter((text) => !/[\r\n]/.test(text));
  const lines = fc.array(line, { maxLength: 10 });

  it('gives the same bytes however lines are cut into pieces', () => {
    const cuts = fc.array(fc.array(fc.nat({ max: 20 }), { maxLength: 4 }), { minLength: 10, maxLength: 10 });
    fc.assert(
      fc.property(
        lines,
        cuts,
        fc.boolean(),
        fc.option(fc.integer({ min: 1, max: 300 })),
        (texts, places, timestamps, limit) => {
          const options = { timestamps, ...(limit !== null && { limitBytes: limit }) };
          const pieces = texts.flatMap((text, index) => cut(encoder.encode(text), places[index] ?? []));
          expect(render(pieces, options)).toBe(
            render(
              texts.map((text) => record(text)),
              options,
            ),
          );
        },
      ),
    );
  });

  it('gives exactly the first limitBytes bytes', () => {
    fc.assert(
      fc.property(lines, fc.integer({ min: 1, max: 200 }), fc.boolean(), (texts, limitBytes, timestamps) => {
        const records = texts.map((text) => record(text));
        const collect = (options: Partial<LogOptions>): Buffer => {
          const renderer = new LogRenderer({ follow: false, previous: false, timestamps, ...options });
          return Buffer.concat(records.map((one) => renderer.render(one)));
        };
        expect(collect({ limitBytes })).toEqual(collect({}).subarray(0, limitBytes));
      }),
    );
  });
});

function cut(bytes: Uint8Array, places: readonly number[]): readonly LogRecord[] {
  const ends = [...places.map((place) => Math.min(place, bytes.length)).sort((a, b) => a - b), bytes.length];
  return ends.map((end, index) => ({
    time: T0,
    stream: 'stdout',
    line: bytes.subarray(index === 0 ? 0 : ends[index - 1], end),
    partial: index < ends.length - 1,
  }));
}

import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { LineOutput } from './output.ts';

const LINE = Buffer.from(`${'x'.repeat(99)}\n`);
const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('lines on their way to a client', () => {
  it('that come one by one wait, too, while the client does not read', async () => {
    let taken: (() => void) | undefined;
    const client = new Writable({
      highWaterMark: 1_000,
      write: (_chunk, _encoding, done) => {
        taken = done;
      },
    });
    const output = new LineOutput(client, new AbortController().signal);
    let waiting: Promise<void> | undefined;
    let lines = 0;
    for (; lines < 1_000 && waiting === undefined; lines++) {
      waiting = output.write(LINE);
      await tick();
    }
    expect(client.writableLength).toBeLessThan(2_000);
    let hasRoom = false;
    void waiting?.then(() => {
      hasRoom = true;
    });
    await tick();
    expect(hasRoom).toBe(false);
    for (let round = 0; round < lines; round++) {
      taken?.();
      await tick();
    }
    expect(hasRoom).toBe(true);
  });

  it('go out at once when they come alone', async () => {
    const seen: string[] = [];
    const client = new Writable({
      write: (chunk, _encoding, done) => {
        seen.push(String(chunk));
        done();
      },
    });
    const output = new LineOutput(client, new AbortController().signal);
    expect(output.write(Buffer.from('a\n'))).toBeUndefined();
    expect(output.write(Buffer.from('b\n'))).toBeUndefined();
    await tick();
    expect(seen).toEqual(['a\nb\n']);
  });
});

import { afterEach, describe, expect, it } from 'vitest';
import { StreamBed, until } from './testing/bed.ts';
import { SpdyClient } from './testing/spdy-client.ts';

const beds: StreamBed[] = [];

afterEach(async () => {
  for (const bed of beds.splice(0)) await bed.close();
});

async function forwarding(): Promise<SpdyClient> {
  const bed = await StreamBed.open();
  beds.push(bed);
  return SpdyClient.open(bed.port, '/portForward/ns/p', 'portforward.k8s.io');
}

const LONG = 'x'.repeat(60_000);

describe('headers that compress to nothing', () => {
  it('are not kept beyond a few megabytes: further streams are refused, until others have ended', async () => {
    const client = await forwarding();
    const ids = Array.from({ length: 200 }, (_, index) => 2 * index + 1);
    for (const id of ids)
      client.raw.send(client.frames.synStream(id, { streamType: 'data', port: '80', requestID: `${id}${LONG}` }));
    await until(() => client.answers(399).length > 0);
    const accepted = ids.filter((id) => client.answers(id)[0] === 'synReply');
    expect(accepted.length * LONG.length).toBeLessThan(5_000_000);
    expect(accepted.length * LONG.length).toBeGreaterThan(3_000_000);
    client.raw.send(client.frames.synStream(401, { streamType: 'data', port: '80', requestID: LONG }));
    await until(() => client.answers(401).length > 0);
    expect(client.answers(401)).toEqual(['rst']);
    client.raw.send(
      client.frames.rst(1),
      client.frames.synStream(403, { streamType: 'data', port: '80', requestID: LONG }),
    );
    await until(() => client.answers(403).length > 0);
    expect(client.answers(403)).toEqual(['synReply']);
  });

  it('come back once, however often a client makes the same mistake', async () => {
    const client = await forwarding();
    const headers = { port: '80', requestID: LONG };
    client.raw.send(client.frames.synStream(1, { streamType: 'error', ...headers }));
    for (let id = 3; id <= 201; id += 2)
      client.raw.send(client.frames.synStream(id, { streamType: 'error', ...headers }));
    await until(() => client.answers(201).length > 0);
    expect(client.text(1).length).toBeLessThan(2 * LONG.length);
    expect(client.text(1)).toContain('error stream already assigned');
  });
});

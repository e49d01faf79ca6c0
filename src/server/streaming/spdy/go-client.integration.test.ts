import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { goBuild } from '../../../../e2e/parts/build.ts';
import { findGo } from '../../../../e2e/parts/go-toolchain.ts';
import { run } from '../../../../e2e/parts/process.ts';
import { Progress } from '../../../../e2e/parts/progress.ts';
import { systemClock } from '../../../util/clock.ts';
import { SpdyConnection } from './connection.ts';

const MODULE = join(import.meta.dirname, '../../../../e2e/parts/controlplane');

describe('a Go client on the library of kubectl', () => {
  const connections: SpdyConnection[] = [];
  let directory: string;
  let client: string;
  let server: Server;

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'outrigger-spdy-'));
    client = join(directory, 'spdy-client');
    await goBuild(await findGo(new Progress()), ['build', '-mod=readonly'], './spdy-client', client, MODULE);
    server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
      const connection = new SpdyConnection(socket, Buffer.alloc(0), {
        clock: systemClock,
        onStream: (stream) => {
          stream.accept();
          pipeline(stream, stream).catch(() => stream.destroy());
        },
      });
      connections.push(connection);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterAll(async () => {
    server.close();
    await rm(directory, { recursive: true, force: true });
  });

  it('gets every stream back, small ones in a row and large ones side by side, and a regular end', async () => {
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    expect(await run(client, [`127.0.0.1:${address.port}`])).toBe('ok\n');
    await connections[0]?.closed;
    expect(connections.map(({ openStreams }) => openStreams)).toEqual([0]);
    expect(connections[0]?.signal.reason).toMatchObject({ message: 'the client has finished' });
  });
});

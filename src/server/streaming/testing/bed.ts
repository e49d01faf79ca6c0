import { createServer, type Server } from 'node:http';
import express from 'express';
import type { Pod } from '../../../model/pod.ts';
import { makeContainer, makeObservedContainer, makeObservedPod, makePod, running } from '../../../testing/builders.ts';
import { FakeClock } from '../../../testing/fake-clock.ts';
import { recordedLog } from '../../../testing/recorded-log.ts';
import { listen } from '../../listen.ts';
import { runRoutes } from '../../routes/run.ts';
import { streamRoutes } from '../../routes/streams.ts';
import { StreamServer, type StreamServerOptions } from '../upgrade.ts';
import { FakeDial, FakeExec } from './fake-facets.ts';

/** Pod `ns/p` with the running containers `c` and `term` (a terminal), behind a server without TLS that lets everybody in. */
export class StreamBed {
  readonly exec: FakeExec;
  readonly dial: FakeDial;
  readonly clock: FakeClock;
  readonly lines: string[];
  readonly streams: StreamServer;
  readonly port: number;
  /** `exec WebSocket v4.channel.k8s.io` and so on, as the server saw it. */
  readonly seen: string[];
  /** Going on now. */
  readonly counts: { readonly requests: number; readonly streams: number };
  readonly #server: Server;

  private constructor(fields: Omit<StreamBed, 'close'> & { readonly server: Server }) {
    this.exec = fields.exec;
    this.dial = fields.dial;
    this.clock = fields.clock;
    this.lines = fields.lines;
    this.streams = fields.streams;
    this.port = fields.port;
    this.seen = fields.seen;
    this.counts = fields.counts;
    this.#server = fields.server;
  }

  static async open(overrides: Partial<StreamServerOptions> = {}): Promise<StreamBed> {
    const exec = new FakeExec();
    const dial = new FakeDial();
    const clock = new FakeClock();
    const lines: string[] = [];
    const seen: string[] = [];
    const counts = { requests: 0, streams: 0 };
    const log = recordedLog(lines);
    const options: StreamServerOptions = {
      findPod: (namespace, name) => (namespace === 'ns' && name === 'p' ? POD : undefined),
      observed: { get: () => ({ pod: OBSERVED, at: 1 }) },
      exec,
      attach: exec,
      dial,
      streamingIdleTimeoutMs: 4 * 3_600_000,
      access: { clock, anonymous: true, authorize: async () => true },
      clock,
      log,
      http: {
        began: () => {
          counts.requests++;
          return () => counts.requests--;
        },
        streamOpened: (subresource, protocol, transport) => {
          seen.push(`${subresource} ${transport} ${protocol}`);
          counts.streams++;
          return () => counts.streams--;
        },
      },
      ...overrides,
    };
    const streams = new StreamServer(options);
    const app = express();
    app.use(streamRoutes(options));
    app.use(runRoutes({ ...options, signal: new AbortController().signal }));
    app.use((_request, response) => {
      response.status(404).type('text/plain').send('404 page not found\n');
    });
    const server = createServer({ shouldUpgradeCallback: (request) => streams.wants(request) }, app);
    server.on('upgrade', (request, socket, head) => streams.handle(request, socket, head));
    const port = await listen(server, { address: '127.0.0.1', port: 0, flags: '', log });
    return new StreamBed({ exec, dial, clock, lines, seen, streams, port, counts, server });
  }

  async close(): Promise<void> {
    this.streams.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

const POD: Pod = makePod({ spec: { containers: [makeContainer(), makeContainer('term', { tty: true })] } });

const OBSERVED = makeObservedPod({
  containers: [
    makeObservedContainer('c', { status: 'created' }, { attempt: 0 }),
    makeObservedContainer('c', running(), { attempt: 2 }),
    makeObservedContainer('term', running()),
    makeObservedContainer('dead', { status: 'created' }),
  ],
});

/** Waits for something that another side does in its own time. */
export async function until(condition: () => boolean): Promise<void> {
  for (let round = 0; !condition(); round++) {
    if (round > 2_000) throw new Error('waited too long');
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { makeAuthority, type TestAuthority } from '../../testing/certificates.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { KubeletServer, type KubeletServerOptions } from '../server.ts';
import type { KeyAndCert } from '../tls-files.ts';

interface Answer {
  readonly code: number | undefined;
  readonly body: string;
  readonly headers: IncomingMessage['headers'];
}

/** Kubelet servers on loopback with TLS, and who asks them. */
export class ServerBed {
  readonly authority: TestAuthority;
  /** Another authority of the same name. */
  readonly stranger: TestAuthority;
  readonly own: KeyAndCert;
  readonly admin: KeyAndCert;
  /** Of the test that runs: files of the server. */
  directory = '';
  readonly #running: KubeletServer[] = [];

  private constructor(authority: TestAuthority, stranger: TestAuthority, own: KeyAndCert, admin: KeyAndCert) {
    this.authority = authority;
    this.stranger = stranger;
    this.own = own;
    this.admin = admin;
  }

  static async make(): Promise<ServerBed> {
    const authority = await makeAuthority('test-ca');
    const own = await authority.issue({ commonName: 'node-1', usage: 'server' });
    const admin = await authority.issue({ commonName: 'kube-apiserver', organizations: ['system:masters', 'others'] });
    return new ServerBed(authority, await makeAuthority('test-ca'), own, admin);
  }

  async begin(): Promise<void> {
    this.directory = await mkdtemp(join(tmpdir(), 'outrigger-server-'));
  }

  async end(): Promise<void> {
    await Promise.all(this.#running.splice(0).map((server) => server.stop()));
    await rm(this.directory, { recursive: true });
  }

  async start(overrides: Partial<KubeletServerOptions> = {}, { withAuthority = true } = {}) {
    const clientCaFile = join(this.directory, 'ca.crt');
    await writeFile(clientCaFile, this.authority.cert);
    const clock = new FakeClock();
    const warnings: string[] = [];
    const server = new KubeletServer({
      address: '127.0.0.1',
      port: 0,
      serving: { type: 'issued', current: () => this.own, onChange: () => () => {} },
      ...(withAuthority && { clientCaFile }),
      pods: () => [],
      findPod: () => undefined,
      status: () => undefined,
      observed: { get: () => undefined },
      authorize: () => Promise.resolve(true),
      checks: [],
      streamingIdleTimeoutMs: 60_000,
      metrics: { main: async () => '', probing: async () => '', slis: async () => '' },
      http: { began: () => () => {}, streamOpened: () => () => {} },
      clock,
      log: { info: () => {}, warn: (_fields: unknown, text?: unknown) => warnings.push(String(text)), error: () => {} },
      ...overrides,
    });
    this.#running.push(server);
    const { port } = await server.start();
    const get = (path: string, options: RequestOptions = this.admin): Promise<Answer> => fetchText(port, path, options);
    return { server, port, clock, get, warnings };
  }
}

export function fetchText(port: number, path: string, options: RequestOptions): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      { host: '127.0.0.1', port, path, rejectUnauthorized: false, agent: false, ...options },
      (response) => {
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (text: string) => {
          body += text;
        });
        response.on('end', () => resolve({ code: response.statusCode, body, headers: response.headers }));
        response.on('error', reject);
      },
    );
    request.on('error', reject);
    request.end();
  });
}

export function handshake(port: number, options: object = {}): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ...options }, () => resolve(socket));
    socket.on('error', reject);
  });
}

/** Files are read by the system, in real time. */
export async function eventually(clock: FakeClock, condition: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 8_000;
  while (performance.now() < deadline) {
    if (await condition()) return;
    await clock.advance(10_000);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error('it did not happen');
}

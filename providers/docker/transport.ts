import { readFile } from 'node:fs/promises';
import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { inspect } from 'node:util';
import Docker from 'dockerode';
import type { EngineAddress } from './schema.ts';

export interface Transport {
  readonly docker: Docker;
  disconnect(): void;
}

/** Half-open connections are noticed by the kernel's probes; the event stream is silent for as long as nothing happens. */
const KEEP_ALIVE = { keepAlive: true, keepAliveMsecs: 15_000, maxFreeSockets: 8 };

/**
 * Says everything there is to say about the way to the engine: what is left out, the library would take from DOCKER_HOST
 * and its relatives.
 */
export async function connect(address: EngineAddress): Promise<Transport> {
  if (address.type === 'socket') {
    const agent = brief(new HttpAgent(KEEP_ALIVE));
    const docker = dockerWith({ ...UNSET, socketPath: address.path, protocol: 'http', agent });
    return { docker, disconnect: () => agent.destroy() };
  }
  const { host, port, tls } = address;
  if (tls === undefined) {
    const agent = brief(new HttpAgent(KEEP_ALIVE));
    return { docker: dockerWith({ ...UNSET, host, port, protocol: 'http', agent }), disconnect: () => agent.destroy() };
  }
  const [ca, cert, key] = await Promise.all([tls.caFile, tls.certFile, tls.keyFile].map(readOptional));
  const agent = brief(new HttpsAgent({ ...KEEP_ALIVE, ca, cert, key }));
  const docker = dockerWith({ ...UNSET, host, port, protocol: 'https', ca, cert, key, agent });
  return { docker, disconnect: () => agent.destroy() };
}

const UNSET = {
  host: undefined,
  socketPath: undefined,
  port: undefined,
  ca: undefined,
  cert: undefined,
  key: undefined,
  pathPrefix: '/',
  timeout: undefined,
};

/** The library prints the agent of every request for a log that nobody reads: with all sockets and what hangs on them, for milliseconds. */
function brief<T extends HttpAgent>(agent: T): T {
  return Object.defineProperty(agent, inspect.custom, { value: () => '[agent]' });
}

function dockerWith(options: object): Docker {
  // The types know neither `agent` nor a field that is set to undefined on purpose.
  return new Docker(options as Docker.DockerOptions);
}

async function readOptional(file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : await readFile(file, 'utf8');
}

import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DockerHttp } from './docker-http.ts';
import { forgetDead, run, Service, tail } from './process.ts';
import { waitFor } from './wait.ts';

export interface PrivateEngineOptions {
  /** Keep it short: sockets live below. */
  readonly dir: string;
  readonly liveRestore?: boolean;
}

/**
 * A second Docker engine with everything of its own, for tests that restart it. Root only, on a machine that has dockerd. It lives in a
 * network namespace of its own, which outlives it as a file: an engine that is told to have no default bridge removes docker0,
 * also when that is another engine's. Its containers reach each other and nothing else.
 */
export class PrivateEngine {
  readonly socket: string;
  readonly docker: DockerHttp;
  readonly #options: PrivateEngineOptions;
  #service: Service | undefined;

  constructor(options: PrivateEngineOptions) {
    // A socket's address has 108 bytes at most, and containerd's are below exec/containerd/.
    if (options.dir.length > 70) throw new Error(`${options.dir} is too long for the sockets of an engine`);
    this.#options = options;
    this.socket = join(options.dir, 'docker.sock');
    this.docker = new DockerHttp(this.socket);
  }

  async start(): Promise<void> {
    const { dir, liveRestore = false } = this.#options;
    mkdirSync(dir, { recursive: true });
    // A crashed dockerd leaves its pid file, and that of its containerd, which dies with it. Where nobody reaps the dead, dockerd takes
    // them for alive and waits for them.
    for (const file of ['docker.pid', 'exec/containerd/containerd.pid']) await forgotten(join(dir, file));
    const network = join(dir, 'netns');
    if (!mountsBelow(dir).includes(network)) {
      writeFileSync(network, '');
      await run('unshare', [`--net=${network}`, 'true']);
    }
    const service = new Service({
      name: 'dockerd-private',
      command: 'nsenter',
      args: [
        `--net=${network}`,
        'dockerd',
        `--host=unix://${this.socket}`,
        `--data-root=${join(dir, 'data')}`,
        `--exec-root=${join(dir, 'exec')}`,
        `--pidfile=${join(dir, 'docker.pid')}`,
        '--bridge=none',
        '--iptables=false',
        `--live-restore=${liveRestore}`,
      ],
      logFile: join(dir, 'dockerd.log'),
      pidDir: join(dir, 'pids'),
    });
    this.#service = service;
    await service.ready(() => this.docker.ping());
  }

  /** As `systemctl stop docker`: with live-restore the containers go on. */
  async stopDaemon(): Promise<void> {
    await this.#service?.stopAlone();
  }

  /** As a crash: SIGKILL to dockerd; its containerd dies with it, the containers go on. */
  async crashDaemon(): Promise<void> {
    await this.#service?.crash();
  }

  async restart(): Promise<void> {
    await this.stopDaemon();
    await this.start();
  }

  log(): string {
    return tail(join(this.#options.dir, 'dockerd.log'), 60);
  }

  /** Ends containers and engine and removes its folder. */
  async destroy(): Promise<void> {
    if (await this.docker.ping().catch(() => false)) await this.#removeAll();
    if (this.#service?.running) await this.#service.stop(20_000);
    await removeEngineDir(this.#options.dir);
  }

  /** Bridges of networks would stay on the machine. */
  async #removeAll(): Promise<void> {
    for (const { Id } of await this.docker.containers()) await this.docker.removeContainer(Id);
    for (const { Id, Name } of await this.docker.networks()) {
      if (!['bridge', 'host', 'none'].includes(Name)) await this.docker.removeNetwork(Id);
    }
  }
}

/** On a busy machine a killed process takes a moment to be dead. One that lives on is the next dockerd's to adopt. */
async function forgotten(pidFile: string): Promise<void> {
  const dead = (): boolean => {
    forgetDead(pidFile);
    return !existsSync(pidFile);
  };
  await waitFor(dead, { what: `the end of ${pidFile}`, timeoutMs: 10_000 }).catch(() => undefined);
}

/** Whether a folder is that of a private engine. */
export function isEngineDir(dir: string): boolean {
  return existsSync(join(dir, 'data')) && existsSync(join(dir, 'exec'));
}

/** The first word of /proc/PID/cmdline: nothing but an engine's own programs is ever ended here. */
const ENGINE = /^[^\0]*\b(dockerd|containerd|containerd-shim[\w-]*)\0/;

/** Ends what still runs out of a private engine's folder and removes it: mounts, shims and their containers outlive a crash. */
export async function removeEngineDir(dir: string): Promise<void> {
  const processes = readProcesses();
  const ours = processes.filter(({ command }) => ENGINE.test(command) && command.includes(`${dir}/`));
  const shims = new Set(ours.filter(({ command }) => command.includes('containerd-shim')).map(({ pid }) => pid));
  const containers = processes.filter(({ parent }) => shims.has(parent));
  for (const { pid } of [...containers, ...ours]) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // Gone already.
    }
  }
  for (const mount of mountsBelow(dir)) await run('umount', ['-l', mount]).catch(() => undefined);
  rmSync(dir, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}

function mountsBelow(dir: string): string[] {
  return readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
    .filter((mount) => mount.startsWith(`${dir}/`))
    .reverse();
}

interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

function readProcesses(): ProcessEntry[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
        const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
        return [{ pid: Number(name), parent, command: readFileSync(`/proc/${name}/cmdline`, 'utf8') }];
      } catch {
        return []; // ended meanwhile
      }
    });
}

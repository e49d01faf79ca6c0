import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { aptInstall, isRoot } from './apt.ts';
import { DockerHttp } from './docker-http.ts';
import { withLock } from './lock.ts';
import { stateDir } from './paths.ts';
import { forgetDead, isAlive, isOnPath, readProcessId, Service, stopLeftovers, thisProcess } from './process.ts';
import type { Progress } from './progress.ts';
import { sleep } from './wait.ts';

export interface Engine {
  readonly socket: string;
  readonly docker: DockerHttp;
  /** Gives the engine back; the last user of an engine that we started stops it. */
  release(): Promise<void>;
}

const DEFAULT_SOCKET = '/var/run/docker.sock';

/** The engine that runs on this machine; if there is none, root gets one installed and started for as long as someone uses it. */
export async function ensureEngine(progress: Progress): Promise<Engine> {
  const socket = socketPath();
  const docker = new DockerHttp(socket);
  const home = engineDir();
  return await withLock(
    join(home, 'lock'),
    () => undefined,
    async () => {
      if (!(await answers(docker))) await startEngine(docker, home, progress);
      const user = join(home, 'users', `${process.pid}.json`);
      mkdirSync(join(home, 'users'), { recursive: true });
      writeFileSync(user, JSON.stringify(thisProcess()));
      return { socket, docker, release: () => release(home, user) };
    },
  );
}

function socketPath(): string {
  const host = process.env['DOCKER_HOST'];
  if (host === undefined || host === '') return DEFAULT_SOCKET;
  if (!host.startsWith('unix://'))
    throw new Error(`DOCKER_HOST=${host}: only an engine on this machine (unix://…) can be used`);
  return host.slice('unix://'.length);
}

/** False if nobody listens; any other trouble is an error that says what to do. */
async function answers(docker: DockerHttp): Promise<boolean> {
  try {
    return await docker.ping();
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return false;
    if (code === 'EACCES' || code === 'EPERM') {
      throw new Error(
        `the Docker engine at ${docker.socket} does not let this user in: run this as root, or join the group docker (sudo usermod -aG docker $USER, then log in again)`,
      );
    }
    throw new Error(`the Docker engine at ${docker.socket} does not answer`, { cause: error });
  }
}

async function startEngine(docker: DockerHttp, home: string, progress: Progress): Promise<void> {
  if (docker.socket !== DEFAULT_SOCKET) throw new Error(`no Docker engine answers at ${docker.socket} (DOCKER_HOST)`);
  if (!isRoot()) {
    throw new Error(
      `no Docker engine answers at ${docker.socket}. Start it (sudo systemctl start docker), install it (sudo apt-get install docker.io), or run this command as root, which does both.`,
    );
  }
  if (!isOnPath('dockerd')) {
    await aptInstall(['docker.io', 'iptables'], 'the Docker engine is missing', progress);
    // Where systemd runs the package starts the engine by itself: that one then belongs to the machine, not to us.
    if (existsSync('/run/systemd/system')) {
      for (let i = 0; i < 50; i++, await sleep(200)) if (await answers(docker)) return;
    }
  }
  await stopLeftovers(join(home, 'pids'), ENGINE_GRACE_MS);
  forgetDead('/var/run/docker.pid');
  const service = new Service({
    name: 'dockerd',
    command: 'dockerd',
    args: [`--host=unix://${docker.socket}`],
    logFile: join(home, 'dockerd.log'),
    pidDir: join(home, 'pids'),
  });
  await progress.during('starting the Docker engine', () => service.ready(() => docker.ping()));
  service.detach();
}

/** dockerd ends its containers first. */
const ENGINE_GRACE_MS = 20_000;

async function release(home: string, user: string): Promise<void> {
  rmSync(user, { force: true });
  await stopIdleEngine(home);
}

/** Stops the engine if it is one that we started and nobody uses it any more. */
export async function stopIdleEngine(home = engineDir()): Promise<void> {
  if (!existsSync(join(home, 'pids'))) return;
  await withLock(
    join(home, 'lock'),
    () => undefined,
    async () => {
      if (!hasUsers(join(home, 'users'))) await stopLeftovers(join(home, 'pids'), ENGINE_GRACE_MS);
    },
  );
}

function engineDir(): string {
  return join(stateDir(), 'engine');
}

/** Forgets users that have died. */
function hasUsers(dir: string): boolean {
  const alive = readdirSync(dir).filter((file) => {
    const id = readProcessId(join(dir, file));
    if (id !== undefined && isAlive(id)) return true;
    rmSync(join(dir, file), { force: true });
    return false;
  });
  return alive.length > 0;
}

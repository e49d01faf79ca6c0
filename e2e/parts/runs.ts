import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { cleanNodes } from './docker-cleanup.ts';
import { DockerHttp } from './docker-http.ts';
import { stateDir } from './paths.ts';
import { isEngineDir, PrivateEngine, removeEngineDir } from './private-engine.ts';
import { isAlive, readProcessId, stopLeftovers, thisProcess } from './process.ts';
import { Progress } from './progress.ts';

/**
 * A run owns a folder below the state folder: pid files and data of its control plane, names of its nodes. Should its process die
 * without cleaning up, the next command finds the folder without a living owner and cleans up in its place.
 */
export class Run {
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
  }

  static open(kind: string): Run {
    const dir = join(runsDir(), `${kind}-${process.pid}`);
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    writeFileSync(join(dir, 'owner.json'), JSON.stringify(thisProcess()));
    return new Run(dir);
  }

  /** To be called before the node's program starts: what the node makes on the engine carries its name. */
  addNode(name: string, socket: string): void {
    mkdirSync(join(this.dir, 'engine-nodes'), { recursive: true });
    writeFileSync(join(this.dir, 'engine-nodes', `${name}.json`), JSON.stringify({ name, socket } satisfies NodeEntry));
  }

  /** Copies the logs to where people find them after a failure. */
  keepLogs(target: string): void {
    rmSync(target, { recursive: true, force: true });
    for (const log of findLogs(this.dir)) {
      const to = join(target, relative(this.dir, log));
      mkdirSync(dirname(to), { recursive: true });
      copyFileSync(log, to);
    }
  }

  /** Ends and removes everything that belongs to the run. */
  async close(): Promise<void> {
    await removeRun(this.dir, new Progress());
  }
}

interface NodeEntry {
  readonly name: string;
  readonly socket: string;
}

function runsDir(): string {
  return join(stateDir(), 'runs');
}

/** Cleans up after runs whose process has died. */
export async function cleanDeadRuns(progress: Progress): Promise<void> {
  if (!existsSync(runsDir())) return;
  for (const name of readdirSync(runsDir())) {
    const dir = join(runsDir(), name);
    const owner = readProcessId(join(dir, 'owner.json'));
    if (owner !== undefined && isAlive(owner)) continue;
    progress.say(`cleaning up after ${name}, which ended without doing so`);
    await removeRun(dir, progress);
  }
}

async function removeRun(dir: string, progress: Progress): Promise<void> {
  for (const engine of findEngines(dir)) await destroyEngine(engine);
  for (const pids of findPidDirs(dir)) await stopLeftovers(pids);
  for (const { name, socket } of readNodes(dir)) {
    const docker = new DockerHttp(socket);
    if (!(await docker.ping().catch(() => false))) continue;
    // An engine may have lost count of a network's users and refuse to remove it until it starts anew: that must not stop everybody else.
    await cleanNodes(docker, [name]).catch((error: unknown) =>
      progress.say(
        `something of node ${name} is left on the engine: ${error instanceof Error ? error.message : error}`,
      ),
    );
  }
  await removeEngineDir(dir);
}

function readNodes(dir: string): NodeEntry[] {
  const nodes = join(dir, 'engine-nodes');
  if (!existsSync(nodes)) return [];
  return readdirSync(nodes).map((file) => JSON.parse(readFileSync(join(nodes, file), 'utf8')) as NodeEntry); // written by addNode
}

/** Not those below a private engine, which may be containers' own. */
function findLogs(dir: string, depth = 3): string[] {
  return readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    if (entry.isFile() && entry.name.endsWith('.log')) return [path];
    return entry.isDirectory() && depth > 0 ? findLogs(path, depth - 1) : [];
  });
}

function findEngines(dir: string): string[] {
  return readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(dir, entry.name))
    .filter(isEngineDir);
}

/** A crashed test's engine is started once more, since nobody else knows its containers, mounts and bridges. */
async function destroyEngine(dir: string): Promise<void> {
  await stopLeftovers(join(dir, 'pids'), 20_000);
  const engine = new PrivateEngine({ dir, liveRestore: true });
  await engine.start().catch(() => undefined); // then what can be found without it goes
  await engine.destroy();
}

/** Nodes before the control plane, so that they do not log about its absence; folders named `pids` at any of the first levels. */
function findPidDirs(dir: string, depth = 3): string[] {
  if (depth === 0) return [];
  const entries = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const own = entries.filter((entry) => entry.name === 'pids').map((entry) => join(dir, entry.name));
  const below = entries
    .filter((entry) => entry.name !== 'pids')
    .flatMap((entry) => findPidDirs(join(dir, entry.name), depth - 1));
  return [...below, ...own];
}

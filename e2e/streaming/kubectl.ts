import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { binaryPath } from '../parts/build.ts';
import { PATIENCE_MS, type Scene } from '../scene.ts';
import { type Lane, laneEnv, localPort } from './lane.ts';

export interface Result {
  readonly code: number | null;
  readonly stdout: Buffer;
  readonly stderr: string;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** kubectl in the namespace of a scene, speaking as the lane says. */
export class Kubectl {
  readonly #scene: Scene;
  readonly #lane: Lane;

  constructor(scene: Scene, lane: Lane) {
    this.#scene = scene;
    this.#lane = lane;
  }

  start(args: readonly string[]): Child {
    return spawn(binaryPath('kubectl'), this.#args(args), { env: this.#env, stdio: ['pipe', 'pipe', 'pipe'] });
  }

  /** To its end; stdin is closed after the input. */
  async run(args: readonly string[], input: string | Buffer = ''): Promise<Result> {
    return finish(this.start(args), input);
  }

  /** The same on a terminal of so many lines and columns. */
  async runOnTerminal(args: readonly string[], input: string, { rows = 31, columns = 97 } = {}): Promise<Result> {
    const words = [binaryPath('kubectl'), ...this.#args(args)].map((word) => `'${word.replaceAll("'", "'\\''")}'`);
    const command = `stty rows ${rows} cols ${columns}; exec ${words.join(' ')}`;
    return finish(spawn('script', ['-qefc', command, '/dev/null'], { env: this.#env, stdio: 'pipe' }), input);
  }

  /** Calls back with the local port of a forward to `port`; resolves with what kubectl said when it has ended. */
  async forward(pod: string, port: number, use: (localPort: number) => Promise<void>): Promise<Result> {
    const child = this.start(['port-forward', '--address=127.0.0.1', `pod/${pod}`, `:${port}`]);
    const result = collect(child);
    const exited = once(child, 'exit');
    const lines = createInterface(child.stdout);
    const first = await Promise.race([once(lines, 'line'), exited]);
    const local = localPort(first[0]);
    try {
      if (local !== undefined) await use(local);
    } catch (cause) {
      child.kill('SIGINT');
      // Its reason is mostly the one that counts.
      throw new Error(`forwarding: ${cause}; kubectl says: ${(await result).stderr}`, { cause });
    }
    child.kill('SIGINT');
    return await result;
  }

  #args(args: readonly string[]): readonly string[] {
    const { bed, namespace } = this.#scene;
    return [`--kubeconfig=${bed.plane.kubeconfig}`, `--namespace=${namespace}`, ...args];
  }

  get #env(): NodeJS.ProcessEnv {
    return laneEnv(this.#lane);
  }
}

function finish(child: Child, input: string | Buffer): Promise<Result> {
  child.stdin.on('error', () => {}); // kubectl may be gone before it has read everything
  child.stdin.end(input);
  return collect(child);
}

async function collect(child: Child): Promise<Result> {
  const stdout: Buffer[] = [];
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => stdout.push(chunk));
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS);
  const [code] = (await once(child, 'close')) as [number | null]; // the event of a child
  clearTimeout(timer);
  return { code, stdout: Buffer.concat(stdout), stderr };
}

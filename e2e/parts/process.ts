import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { GiveUp, sleep, waitFor } from './wait.ts';

/** A process as it can be recognized later: pids are used again, a pid together with its start time is not. */
export interface ProcessId {
  readonly pid: number;
  /** Clock ticks since boot, field 22 of /proc/PID/stat. */
  readonly startTime: string;
}

export interface ServiceOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly logFile: string;
  /** Folder for the pid file, which lets the next run end what a crashed run left. */
  readonly pidDir: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly cwd?: string;
}

/** A child in a process group of its own, so that Ctrl-C reaches only us and we end things in order. */
export class Service {
  readonly name: string;
  readonly logFile: string;
  readonly id: ProcessId;
  readonly #child: ChildProcess;
  readonly #pidFile: string;
  readonly exited: Promise<void>;

  constructor(options: ServiceOptions) {
    mkdirSync(dirname(options.logFile), { recursive: true });
    mkdirSync(options.pidDir, { recursive: true });
    const log = openSync(options.logFile, 'a');
    try {
      this.#child = spawn(options.command, options.args, {
        detached: true,
        stdio: ['ignore', log, log],
        env: options.env ?? process.env,
        ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      });
    } finally {
      closeSync(log);
    }
    this.name = options.name;
    this.logFile = options.logFile;
    this.#pidFile = join(options.pidDir, `${options.name}.json`);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.exited = promise;
    this.#child.once('exit', () => resolve());
    this.#child.once('error', () => resolve());
    const pid = this.#child.pid;
    if (pid === undefined) throw new Error(`cannot start ${options.command}`);
    this.id = { pid, startTime: startTimeOf(pid) ?? '' };
    writeFileSync(this.#pidFile, JSON.stringify({ ...this.id, command: options.command }));
  }

  get pid(): number {
    return this.id.pid;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  get exitCode(): number | null {
    return this.#child.exitCode;
  }

  /** Waits until `check` says yes; ends early with the tail of the log if the process ends first. */
  ready(check: () => Promise<boolean>, timeoutMs = 60_000): Promise<true> {
    return waitFor(
      async () => {
        if (!this.running) throw new GiveUp(`${this.name} ended while starting:\n${tail(this.logFile)}`);
        return await check();
      },
      { what: `${this.name} to be ready`, timeoutMs, intervalMs: 50, detail: () => tail(this.logFile) },
    );
  }

  /** SIGTERM to the process, SIGKILL to its group after `graceMs`. */
  async stop(graceMs = 10_000): Promise<void> {
    if (this.running) {
      signal(this.pid, 'SIGTERM');
      await Promise.race([this.exited, sleep(graceMs)]);
    }
    await this.kill();
  }

  /** SIGTERM to the process alone and no more: what it started may outlive it. */
  async stopAlone(timeoutMs = 30_000): Promise<void> {
    signal(this.pid, 'SIGTERM');
    await waitFor(() => !this.running, { what: `${this.name} to end`, timeoutMs, detail: () => tail(this.logFile) });
    rmSync(this.#pidFile, { force: true });
  }

  /** Lets this process end while the service goes on. */
  detach(): void {
    this.#child.unref();
  }

  /** SIGKILL to the whole group, also to what outlived its leader. */
  async kill(): Promise<void> {
    signal(-this.pid, 'SIGKILL');
    await this.exited;
    rmSync(this.#pidFile, { force: true });
  }

  /** SIGKILL to the process alone, as a crash would have it; its children live on. */
  async crash(): Promise<void> {
    signal(this.pid, 'SIGKILL');
    await this.exited;
    rmSync(this.#pidFile, { force: true });
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // Already gone, which is what was wanted.
  }
}

export function tail(file: string, lines = 25): string {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  } catch {
    return '(no log)';
  }
}

function startTimeOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command in parentheses may hold anything; fields are counted after its last parenthesis, where the state is field 3.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

export function isAlive(id: ProcessId): boolean {
  return startTimeOf(id.pid) === id.startTime;
}

export function thisProcess(): ProcessId {
  return { pid: process.pid, startTime: startTimeOf(process.pid) ?? '' };
}

/** Ends the processes that a crashed run left, each known by pid and start time, and their groups: SIGTERM, then SIGKILL after `graceMs`. */
export async function stopLeftovers(pidDir: string, graceMs = 1000): Promise<void> {
  if (!existsSync(pidDir)) return;
  const files = readdirSync(pidDir).map((file) => join(pidDir, file));
  await Promise.all(
    files.map(async (file) => {
      const id = readProcessId(file);
      if (id !== undefined && isAlive(id)) {
        signal(id.pid, 'SIGTERM');
        await waitFor(() => !isAlive(id), { what: 'end', timeoutMs: graceMs, intervalMs: 20 }).catch(() => undefined);
        signal(-id.pid, 'SIGKILL');
        await waitFor(() => !isAlive(id), { what: `${file} to be gone`, timeoutMs: 5000, intervalMs: 20 });
      }
      rmSync(file, { force: true });
    }),
  );
}

export function readProcessId(path: string): ProcessId | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof value !== 'object' || value === null) return undefined;
    const { pid, startTime } = value as { pid?: unknown; startTime?: unknown }; // a file of ours, checked on the next line
    return typeof pid === 'number' && typeof startTime === 'string' && startTime !== ''
      ? { pid, startTime }
      : undefined;
  } catch {
    return undefined;
  }
}

/** Removes the pid file of a program that has ended without doing so; programs that only check for a pid would not start again. */
export function forgetDead(pidFile: string): void {
  if (!existsSync(pidFile)) return;
  if (startTimeOf(Number(readFileSync(pidFile, 'utf8'))) === undefined) rmSync(pidFile);
}

export interface RunOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  readonly input?: Buffer;
}

/** Runs a command to its end; an exit code other than 0 is an error that carries what it printed. */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      env: options.env ?? process.env,
      ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    });
    // A long build must not go on when we are gone.
    const onExit = (): void => void child.kill();
    process.once('exit', onExit);
    let out = '';
    let err = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      err = (err + text).slice(-20_000);
    });
    child.once('error', (error) => reject(new Error(`cannot run ${command}: ${error.message}`)));
    child.once('close', (code, killedBy) => {
      process.removeListener('exit', onExit);
      if (code === 0) resolve(out);
      else
        reject(new Error(`${command} ${args.join(' ')} ended with ${code ?? killedBy}:\n${(err || out).slice(-4000)}`));
    });
    child.stdin?.end(options.input);
  });
}

export function isOnPath(command: string): boolean {
  return (process.env['PATH'] ?? '').split(':').some((dir) => dir !== '' && existsSync(join(dir, command)));
}

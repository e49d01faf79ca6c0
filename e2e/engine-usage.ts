import { cpus } from 'node:os';
import type { DockerHttp } from './parts/docker-http.ts';
import { sleep } from './parts/wait.ts';

interface Reading {
  readonly atMs: number;
  readonly value: number;
}

const INTERVAL_MS = 500;

/** What the engine says a container uses, and the kernel the machine, again and again, to be compared with what others say about a time. */
export class EngineUsage {
  readonly #docker: DockerHttp;
  readonly #readings = new Map<string, Reading[]>();
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;

  constructor(docker: DockerHttp) {
    this.#docker = docker;
  }

  follow(containers: readonly string[]): void {
    this.#running = this.#follow(containers);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /** Processors in use, on average, between two moments. */
  cores(key: string, fromMs: number, toMs: number): number {
    const readings = this.#readings.get(key) ?? [];
    return (at(readings, toMs) - at(readings, fromMs)) / ((toMs - fromMs) / 1000);
  }

  async #follow(containers: readonly string[]): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#add('machine', Date.now(), machineSeconds());
      const all = await Promise.all(containers.map((id) => this.#docker.stats(id)));
      for (const [index, { read, cpu_stats }] of all.entries())
        this.#add(containers[index] ?? '', Date.parse(read), cpu_stats.cpu_usage.total_usage / 1e9);
      await sleep(INTERVAL_MS);
    }
  }

  #add(key: string, atMs: number, value: number): void {
    const readings = this.#readings.get(key) ?? [];
    this.#readings.set(key, [...readings, { atMs, value }]);
  }
}

/** Between the readings before and after. */
function at(readings: readonly Reading[], ms: number): number {
  const next = readings.findIndex(({ atMs }) => atMs >= ms);
  const [before, after] = [readings[next - 1], readings[next]];
  if (before === undefined || after === undefined)
    throw new Error(`nothing was read around ${new Date(ms).toISOString()}`);
  return before.value + ((after.value - before.value) * (ms - before.atMs)) / (after.atMs - before.atMs);
}

/** Of all processors since the machine's start. */
function machineSeconds(): number {
  return cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0) / 1000;
}

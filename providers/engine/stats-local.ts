import { readFileSync } from 'node:fs';
import type { NetworkUsage, ProviderContext, TaskUsage } from '../contract/index.ts';
import { proveProcess } from './proc.ts';
import { type CgroupPlace, firstPid, type ReadText, readCgroup } from './stats-cgroup.ts';
import { cgroupMounts, exists, placeLike, placeOf } from './stats-locate.ts';
import { interfacesIn, ofPod } from './stats-network.ts';

const readFileHere: ReadText = (file) => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined; // not there, not ours to read, or gone while we read
  }
};

/** After so many containers in a row that are not on this machine, none is looked for until `RETRY_MS` have passed. */
const GIVE_UP_AFTER = 3;
const RETRY_MS = 600_000;

/**
 * Measures containers of an engine on this machine by what the kernel says of them: some hundredths of what the engine's own answer
 * costs (docs/adr/0019). That an engine is here is never assumed, whatever its address: a control group named after the
 * container proves it, and so does a process in it.
 */
export class LocalStats {
  readonly #clock: ProviderContext['clock'];
  readonly #read: ReadText;
  readonly #places = new Map<string, CgroupPlace>();
  #mounts: ReturnType<typeof cgroupMounts> | undefined;
  /** A container whose place is known: others lie beside it. */
  #example: { readonly id: string; readonly place: CgroupPlace } | undefined;
  #misses = 0;
  #retryAtMs = 0;

  constructor(clock: ProviderContext['clock'], read: ReadText = readFileHere) {
    this.#clock = clock;
    this.#read = read;
  }

  /** undefined: it is not here, or no longer; the engine has to be asked. `pidOf` asks the engine, and is seldom needed. */
  async measure(id: string, pidOf: () => Promise<number | undefined>): Promise<TaskUsage | undefined> {
    const place = this.#places.get(id) ?? this.#beside(id) ?? (await this.#search(id, pidOf));
    if (place === undefined) return undefined;
    const usage = readCgroup(place, this.#clock.now(), this.#read);
    if (usage === undefined) this.#places.delete(id);
    else this.#places.set(id, place);
    return usage;
  }

  /** The network in which a measured container lives. */
  network(id: string): NetworkUsage | undefined {
    const place = this.#places.get(id);
    const pid = place && firstPid(place, this.#read);
    if (pid === undefined) return undefined;
    const text = this.#read(`/proc/${pid}/net/dev`);
    // The number may have passed to another process in between.
    if (text === undefined || proveProcess(pid, id) === undefined) return undefined;
    return { timeMs: this.#clock.now(), interfaces: ofPod(interfacesIn(text)) };
  }

  keepOnly(ids: ReadonlySet<string>): void {
    for (const id of this.#places.keys()) if (!ids.has(id)) this.#places.delete(id);
  }

  #beside(id: string): CgroupPlace | undefined {
    if (this.#example === undefined) return undefined;
    const place = placeLike(this.#example.place, this.#example.id, id);
    return exists(place, this.#read) ? place : undefined;
  }

  async #search(id: string, pidOf: () => Promise<number | undefined>): Promise<CgroupPlace | undefined> {
    if (this.#clock.now() < this.#retryAtMs) return undefined;
    const pid = await pidOf();
    // Ended meanwhile: says nothing about where the engine is.
    if (pid === undefined) return undefined;
    const place = proveProcess(pid, id) === undefined ? undefined : this.#placeOf(pid);
    if (place === undefined || !exists(place, this.#read)) {
      if (++this.#misses >= GIVE_UP_AFTER) {
        this.#misses = 0;
        this.#retryAtMs = this.#clock.now() + RETRY_MS;
      }
      return undefined;
    }
    this.#misses = 0;
    this.#example = { id, place };
    return place;
  }

  #placeOf(pid: number): CgroupPlace | undefined {
    this.#mounts ??= cgroupMounts(this.#read('/proc/self/mountinfo') ?? '');
    const cgroup = this.#read(`/proc/${pid}/cgroup`);
    return cgroup === undefined ? undefined : placeOf(cgroup, this.#mounts);
  }
}

import type Docker from 'dockerode';
import { type CallOptions, type PodUid, ProviderError, type ProviderHint } from '../contract/index.ts';
import { decodeUnit } from '../shared/unit-labels.ts';
import { isUnfilledSandboxName } from '../shared/unit-names.ts';
import type { Engine } from './engine.ts';
import { addressesOf } from './observe.ts';
import { findSandboxes } from './units.ts';

/** Where a pod is on the engine. */
export interface SandboxPlace {
  readonly uid: PodUid;
  readonly sandboxId: string;
  readonly ips: readonly string[];
}

/**
 * Finds the running sandbox of a pod. Probes ask for it several times a second, so what was found is believed as long as the engine
 * tells us of changes (like DetailsCache); with no event stream open every question goes to the engine.
 */
export class SandboxPlaces {
  readonly #engine: Engine;
  readonly #hostAddress: () => Promise<string | undefined>;
  readonly #known = new Map<PodUid, SandboxPlace>();
  #watching = 0;
  #changes = 0;

  /** `hostAddress`: of the machine that runs the pods, where pods on its network are reached. */
  constructor(engine: Engine, hostAddress: () => Promise<string | undefined>) {
    this.#engine = engine;
    this.#hostAddress = hostAddress;
  }

  /** Throws NotFound for a pod that is not there, and for one whose network is gone. */
  async find(uid: PodUid, options: CallOptions): Promise<SandboxPlace> {
    const known = this.#known.get(uid);
    if (known !== undefined) return known;
    const asked = this.#changes;
    const found = await findSandboxes(this.#engine, uid, options);
    const hasHost = found.some(isOnHost);
    const place = placeOf(uid, found, hasHost ? ((await this.#hostAddress()) ?? LOOPBACK) : LOOPBACK);
    if (this.#watching > 0 && asked === this.#changes) this.#known.set(uid, place);
    return place;
  }

  forget(uid: PodUid): void {
    this.#changes++;
    this.#known.delete(uid);
  }

  /** The same hints; what they speak of is forgotten on their way. */
  async *follow(hints: AsyncIterable<ProviderHint>): AsyncGenerator<ProviderHint, void, undefined> {
    this.#watching++;
    this.#clear();
    try {
      for await (const hint of hints) {
        if (hint.type === 'pod') this.forget(hint.uid);
        else this.#clear();
        yield hint;
      }
    } finally {
      this.#watching--;
      this.#clear();
    }
  }

  #clear(): void {
    this.#changes++;
    this.#known.clear();
  }
}

/** Right for whoever is on that machine or in a namespace of it, and all that is left where no better address is known. */
const LOOPBACK = '127.0.0.1';

function isOnHost({ HostConfig }: Docker.ContainerInfo): boolean {
  return HostConfig.NetworkMode === 'host';
}

function placeOf(uid: PodUid, present: readonly Docker.ContainerInfo[], hostAddress: string): SandboxPlace {
  if (present.length === 0) throw new ProviderError('NotFound', `no such pod: ${uid}`);
  const running = present.filter((info) => info.State === 'running' && !info.Names.some(isUnfilledSandboxName));
  const [newest] = running.toSorted((a, b) => attemptOf(b) - attemptOf(a));
  const ips = newest === undefined ? [] : isOnHost(newest) ? [hostAddress] : addressesOf(newest);
  if (newest === undefined || ips.length === 0)
    throw new ProviderError('NotFound', `pod ${uid} has no running sandbox with an address`);
  return { uid, sandboxId: newest.Id, ips };
}

function attemptOf(info: Docker.ContainerInfo): number {
  const unit = decodeUnit(info.Labels);
  return unit?.kind === 'sandbox' ? unit.attempt : -1;
}

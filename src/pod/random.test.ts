import { describe, expect, it } from 'vitest';
import { type PodUid, PROVIDER_ERROR_CODES, ProviderError } from '../../providers/contract/index.ts';
import { makeContainer, makePod } from '../testing/builders.ts';
import { Harness } from '../testing/harness.ts';
import { PROVIDER_METHODS } from '../testing/provider-methods.ts';

/** Set it to the seed of a failure to see that one alone. */
const SEED = process.env['RANDOM_SEED'];
const SEEDS =
  SEED === undefined
    ? Array.from({ length: Number(process.env['RANDOM_SEEDS'] ?? 25) }, (_, index) => index + 1)
    : [Number(SEED)];
const STEPS = 40;
/** Longer than any back-off: afterwards everything has found its place. */
const QUIET_MS = 1_200_000;

/** A pod that the backend refuses for good ends as Failed, which is right and tests nothing else. */
const CODES = PROVIDER_ERROR_CODES.filter((code) => code !== 'InvalidSpec' && code !== 'Unsupported');

class Chaos {
  readonly harness: Harness;
  /** What was really made on the backend, as `uid/container#attempt`. */
  readonly made: string[] = [];
  readonly deleted = new Set<PodUid>();
  readonly created: PodUid[] = [];
  readonly story: string[] = [];
  readonly #kind: 'container' | 'pod';
  readonly #random: () => number;

  constructor(kind: 'container' | 'pod', seed: number) {
    this.#kind = kind;
    this.#random = mulberry32(seed);
    this.harness = new Harness({ kind });
    const { backend } = this.harness;
    const scriptFor = backend.scriptFor.bind(backend);
    backend.scriptFor = (pod, spec) => {
      this.made.push(`${pod.identity.uid}/${spec.name}#${spec.attempt}`);
      return scriptFor(pod, spec);
    };
    backend.script({ container: 'short' }, { exitAfterMs: 700, exitCode: 1 });
    backend.script({ container: 'deaf' }, { ignoreStop: true });
  }

  async step(): Promise<void> {
    const { harness } = this;
    const { backend } = harness;
    const uid = this.#pick([...harness.objects.keys()]);
    const method = this.#pick(PROVIDER_METHODS[this.#kind]) ?? 'list';
    switch (this.#below(15)) {
      case 0:
      case 1:
        return this.#create();
      case 2: {
        if (uid === undefined) return;
        const grace = this.#pick([0, 5, 30]) ?? 0;
        this.#tell(`delete ${uid} ${grace}`);
        this.deleted.add(uid);
        return harness.delete(uid, grace);
      }
      case 3:
        if (uid === undefined) return;
        this.#tell(`force delete ${uid}`);
        this.deleted.add(uid);
        return harness.forceDelete(uid);
      case 4: {
        const downMs = this.#below(30_000);
        this.#tell(`crash for ${downMs}`);
        await harness.crash();
        await harness.clock.advance(downMs);
        const started = harness.start();
        backend.faults.heal();
        await harness.clock.advance(60_000);
        return started;
      }
      case 5: {
        const away = backend.faults.unavailable !== undefined;
        this.#tell(away ? 'backend is back' : 'backend is away');
        return backend.faults.setUnavailable(away ? undefined : 'away');
      }
      case 6: {
        const ref = this.#pick(
          [...backend.pods.values()].flatMap((pod) =>
            [...pod.containers.values()].map(({ spec }) => ({
              podUid: pod.identity.uid,
              container: spec.name,
              attempt: spec.attempt,
            })),
          ),
        );
        if (ref === undefined) return;
        const exitCode = this.#below(2);
        this.#tell(`exit ${exitCode} of ${JSON.stringify(ref)}`);
        return backend.exit(ref, { exitCode });
      }
      case 7: {
        const victim = this.#pick([...backend.pods.keys()]);
        if (victim === undefined) return;
        this.#tell(`sandbox of ${victim} is killed`);
        return backend.killSandbox(victim);
      }
      case 8:
        this.#tell(`reply of ${method} is lost`);
        return backend.faults.loseReply(method);
      case 9: {
        const code = this.#pick(CODES) ?? 'Internal';
        this.#tell(`${method} fails: ${code}`);
        return backend.faults.failNext(method, new ProviderError(code, 'by chance'), 1 + this.#below(3));
      }
      case 10:
        this.#tell(`API server is ${harness.apiAway ? 'back' : 'away'}`);
        harness.apiAway = !harness.apiAway;
        return;
      case 11:
        this.#tell(`${method} hangs`);
        return backend.faults.hang(method);
      case 12:
        this.#tell('hints are cut');
        return backend.hints.cut();
      case 13: {
        const ms = this.#pick([-86_400_000, -30_000, 86_400_000]) ?? 0;
        this.#tell(`the clock jumps by ${ms}`);
        return harness.clock.set(harness.clock.now() + ms);
      }
      case 14:
        this.#tell('the backend restarts');
        return backend.crash();
    }
  }

  async pause(): Promise<void> {
    const ms = this.#pick([0, 1, 500, 3_000, 20_000]) ?? 0;
    this.#tell(`+${ms}`);
    await this.harness.clock.advance(ms);
    if (this.#below(3) === 0) this.harness.backend.faults.release();
  }

  async quiet(): Promise<void> {
    const { harness } = this;
    harness.apiAway = false;
    harness.backend.faults.setUnavailable(undefined);
    harness.backend.faults.heal();
    await harness.clock.advance(QUIET_MS);
  }

  async #create(): Promise<void> {
    const name = this.#pick(['a', 'b', 'c', 'd']) ?? 'a';
    // As the API server has it: a name is free again only when its object is gone.
    if ([...this.harness.objects.values()].some(({ metadata }) => metadata.name === name)) return;
    const restartPolicy = this.#pick(['Always', 'OnFailure', 'Never']) ?? 'Always';
    const containers = [makeContainer(this.#pick(['long', 'short', 'deaf'])), makeContainer('side')];
    const uid = `${name}-${this.created.length}`;
    this.#tell(`create ${uid} ${restartPolicy} ${containers[0]?.name}`);
    const pod = makePod({ metadata: { name, uid }, spec: { enableServiceLinks: true, restartPolicy, containers } });
    this.created.push(await this.harness.create(pod));
  }

  #tell(what: string): void {
    this.story.push(what);
  }

  #below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  #pick<T>(items: readonly T[]): T | undefined {
    return items[this.#below(items.length)];
  }
}

function mulberry32(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What is not as it should be, in words. */
function faults({ harness, deleted, created, made }: Chaos): string[] {
  const wrong: string[] = [];
  for (const uid of created) {
    const object = harness.objects.get(uid);
    const unit = harness.backend.pods.get(uid);
    if (deleted.has(uid)) {
      if (object !== undefined) wrong.push(`${uid} is deleted, but its object is there`);
      if (unit !== undefined) wrong.push(`${uid} is deleted, but the backend has it`);
      if (harness.remembered().includes(uid)) wrong.push(`${uid} is gone, but remembered`);
      continue;
    }
    if (object === undefined) {
      wrong.push(`${uid} was not deleted, but its object is gone`);
      continue;
    }
    const phase = object.status?.phase;
    const running = [...(unit?.containers.values() ?? [])].filter(({ state }) => state.status === 'running');
    const names = running.map(({ spec }) => spec.name);
    if (new Set(names).size < names.length) wrong.push(`${uid} runs a container twice: ${names}`);
    if (phase === 'Succeeded' || phase === 'Failed') {
      if (object.spec.restartPolicy === 'Always') wrong.push(`${uid} is ${phase} although it restarts always`);
      if (running.length > 0) wrong.push(`${uid} is ${phase}, but ${names} run`);
    } else if (phase !== 'Running') wrong.push(`${uid} is ${phase}`);
    else if (object.spec.restartPolicy !== 'Never' && !names.includes('side') && !mayRest(object, 'side'))
      wrong.push(`${uid} does not run side: ${names}`);
  }
  const twice = made.filter((ref, index) => made.indexOf(ref) !== index);
  if (twice.length > 0) wrong.push(`made twice: ${twice}`);
  return wrong;
}

/** It ended well, or it waits for its next try (one container that crash-loops takes its whole unit along). */
function mayRest({ status }: ReturnType<Harness['pod']>, name: string): boolean {
  const state = status?.containerStatuses?.find((entry) => entry.name === name)?.state;
  return state?.terminated?.exitCode === 0 || state?.waiting?.reason === 'CrashLoopBackOff';
}

describe.each(['container', 'pod'] as const)('whatever happens to pods on a %s-level backend', (kind) => {
  it.each(SEEDS)('everything finds its place (seed %d)', async (seed) => {
    const chaos = new Chaos(kind, seed);
    await chaos.harness.start();
    for (let step = 0; step < STEPS; step++) {
      await chaos.step();
      await chaos.pause();
    }
    await chaos.quiet();
    expect(faults(chaos), chaos.story.join('\n')).toEqual([]);
  });
});

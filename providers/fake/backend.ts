import type {
  ContainerRef,
  ContainerSpec,
  HostUsage,
  Labels,
  PodUid,
  ProviderContext,
  SandboxSpec,
} from '../contract/index.ts';
import { ProviderError } from '../contract/index.ts';
import { AddressPool } from './addresses.ts';
import type { FakeContainer, FakeExit } from './container.ts';
import { Faults } from './faults.ts';
import { HintBus } from './hint-bus.ts';
import { FakeImages } from './images.ts';
import { FakePod } from './pod.ts';
import {
  type FakeConfig,
  type FakeExecAnswer,
  type FakeScript,
  type FakeServer,
  type FakeServerInput,
  type FakeUse,
  parseConfig,
  parseServers,
  type ScriptMatcher,
} from './schema.ts';
import { ScriptBook } from './script.ts';
import type { FakeSession } from './session.ts';

export type ExecAnswerer = (ref: ContainerRef, command: readonly string[]) => FakeExecAnswer | undefined;

/**
 * What a Docker daemon is to the Docker provider: it outlives providers. A test that "restarts the process" opens a second
 * provider over the same backend; several nodes may share one.
 */
export class FakeBackend {
  readonly config: FakeConfig;
  readonly clock: ProviderContext['clock'];
  readonly faults: Faults;
  readonly images: FakeImages;
  readonly hints = new HintBus();
  readonly pods = new Map<PodUid, FakePod>();
  readonly startedMs: number;
  /** What the machine says instead of what its containers add up to; for pressure. */
  hostUsage: Partial<HostUsage> = {};
  readonly hosts = new Map<string, readonly FakeServer[]>();
  /** Commands and attachments that are open. */
  readonly sessions = new Set<FakeSession>();
  readonly #scripts: ScriptBook;
  #answerExec: ExecAnswerer | undefined;
  readonly #pools = new Map<string, AddressPool>();

  constructor(clock: ProviderContext['clock'], config: FakeConfig = parseConfig({})) {
    this.config = config;
    this.clock = clock;
    this.startedMs = clock.now();
    this.faults = new Faults(clock);
    this.faults.latencyMs = config.latency.callMs;
    this.images = new FakeImages(
      {
        registry: config.images,
        present: config.present,
        pullMs: config.latency.pullMs,
        pullErrors: config.pullErrors,
      },
      clock,
    );
    this.#scripts = new ScriptBook(config.defaultScript);
    for (const { pod, container, image, attempt, ...script } of config.scripts)
      this.#scripts.add({ pod, container, image, attempt }, script);
  }

  /** What matching containers do from their next start on; the last matching script wins field by field. */
  script(matcher: ScriptMatcher, script: Partial<FakeScript>): void {
    this.#scripts.add(matcher, script);
  }

  scriptFor(pod: FakePod, spec: ContainerSpec): FakeScript {
    return this.#scripts.scriptFor(pod.identity.name, spec);
  }

  /** A new unit; one that the pod already has is replaced, its ended containers are kept. */
  createPod(sandbox: SandboxSpec, labels: Labels, subnet: string, state: 'pending' | 'ready'): FakePod {
    const earlier = this.pods.get(sandbox.pod.uid);
    earlier?.end();
    const host = sandbox.network.mode === 'host';
    const pod = new FakePod({
      identity: sandbox.pod,
      attempt: sandbox.attempt,
      hostname: sandbox.hostname,
      labels,
      volumes: sandbox.volumes,
      ips: [host ? this.config.address : this.#pool(subnet).allocate()],
      state,
      clock: this.clock,
      release: (ips) => {
        if (!host) for (const ip of ips) this.#pool(subnet).release(ip);
      },
      onChange: (changed) => {
        if (this.pods.get(changed.identity.uid) === changed) this.hints.emit(changed.identity.uid, changed.labels);
      },
    });
    if (earlier !== undefined) pod.inherit(earlier);
    this.pods.set(sandbox.pod.uid, pod);
    this.hints.emit(sandbox.pod.uid, labels);
    return pod;
  }

  /** Removes every trace of the pod; also for tests ("someone removed it behind our back"). */
  removePod(uid: PodUid): void {
    const pod = this.pods.get(uid);
    if (pod === undefined) return;
    this.pods.delete(uid);
    pod.end();
    pod.dispose();
    this.hints.emit(uid, pod.labels);
  }

  container(ref: ContainerRef): FakeContainer | undefined {
    return this.pods.get(ref.podUid)?.find(ref.container, ref.attempt);
  }

  /** What commands do from now on, before any script; undefined leaves it to the scripts. */
  answerExec(answer: ExecAnswerer | undefined): void {
    this.#answerExec = answer;
  }

  execAnswer(ref: ContainerRef, container: FakeContainer, command: readonly string[]): FakeExecAnswer | undefined {
    return this.#answerExec?.(ref, command) ?? container.execAnswer(command);
  }

  // What tests do to a backend behind the provider's back.

  /** The container ends now, as if killed outside. */
  exit(ref: ContainerRef, exit: FakeExit): void {
    this.#existing(ref).exit(exit);
  }

  /** The container listens with these servers from now on, whatever its script says. */
  listen(ref: ContainerRef, servers: readonly FakeServerInput[]): void {
    this.#existing(ref).listen(parseServers(servers));
  }

  /** A machine outside of all pods, by name or address; without servers it refuses. */
  host(name: string, servers: readonly FakeServerInput[]): void {
    this.hosts.set(name, parseServers(servers));
  }

  /** The container writes one line. */
  writeLog(ref: ContainerRef, text: string, stream: 'stdout' | 'stderr' = 'stdout', partial = false): void {
    this.#existing(ref).log.write(this.clock.now(), stream, text, partial);
  }

  /** The container uses this from now on. */
  use(ref: ContainerRef, use: FakeUse): void {
    this.#existing(ref).use = use;
  }

  /** The container record is lost, without an exit that anybody saw. */
  loseContainer(ref: ContainerRef): void {
    this.pods.get(ref.podUid)?.forget(this.#existing(ref));
  }

  /** The unit dies: its containers are killed, the record stays. */
  killSandbox(uid: PodUid): void {
    this.pods.get(uid)?.end();
  }

  /** The connections of all sessions break. */
  cutSessions(): void {
    for (const session of this.sessions) session.fail(new ProviderError('Unavailable', 'the connection was closed'));
  }

  /** The daemon restarts and takes every running container along (Docker with live-restore off). */
  crash(): void {
    this.hints.cut(new ProviderError('Unavailable', 'backend restarted'));
    this.cutSessions();
    for (const pod of this.pods.values()) if (pod.state !== 'stopped') pod.end();
  }

  /** No timer is left afterwards. */
  dispose(): void {
    this.hints.cut();
    this.cutSessions();
    for (const pod of this.pods.values()) pod.dispose();
  }

  #existing(ref: ContainerRef): FakeContainer {
    const container = this.container(ref);
    if (container === undefined)
      throw new Error(`the fake backend has no ${ref.container}#${ref.attempt} in ${ref.podUid}`);
    return container;
  }

  #pool(subnet: string): AddressPool {
    let pool = this.#pools.get(subnet);
    if (pool === undefined) {
      pool = new AddressPool(subnet);
      this.#pools.set(subnet, pool);
    }
    return pool;
  }
}

import type Docker from 'dockerode';
import { untilAborted } from '../../src/util/abort.ts';
import type {
  AttachFacet,
  CallOptions,
  ContainerProvider,
  ContainerRef,
  ContainerSpec,
  DialFacet,
  ExecFacet,
  FileFacet,
  HostReport,
  ImageFacet,
  LogFacet,
  ObservedPod,
  PodPlanSpec,
  PodUid,
  ProviderContext,
  ProviderHint,
  ProviderTraits,
  SandboxSpec,
  StatsFacet,
  StopRequest,
  Violation,
  VolumeSpec,
} from '../contract/index.ts';
import { ProviderError } from '../contract/index.ts';
import { decodeUnit } from '../shared/unit-labels.ts';
import { sandboxName } from '../shared/unit-names.ts';
import { EngineAttach } from './attach.ts';
import { EngineCalls } from './calls.ts';
import { Containers } from './containers.ts';
import type { EngineSettings } from './create-options.ts';
import { DetailsCache } from './details-cache.ts';
import { Dialer, type DialSettings } from './dial.ts';
import type { Engine } from './engine.ts';
import { watchEvents } from './events.ts';
import { EngineExec } from './exec.ts';
import { HeldVolumes } from './held-volumes.ts';
import { describeHost, type HostReader } from './host.ts';
import { HostPaths } from './host-paths.ts';
import { EngineImages } from './images.ts';
import { LocalBinder } from './local-binder.ts';
import { readLogs } from './logs.ts';
import { MessageFiles } from './message-files.ts';
import { NodeNetwork } from './network.ts';
import { Observer } from './observer.ts';
import { SandboxPlaces } from './sandbox-places.ts';
import { Sandboxes } from './sandboxes.ts';
import { Sessions } from './sessions.ts';
import { sharesMounts } from './shared-mounts.ts';
import { EngineStats } from './stats.ts';
import { SubPaths } from './sub-paths.ts';
import { ENGINE_TRAITS, violations } from './traits.ts';
import { findSandboxes } from './units.ts';
import { readVolumeFile } from './volume-files.ts';
import { PodVolumes } from './volumes.ts';

export interface EngineProviderOptions {
  readonly name: string;
  readonly docker: Docker;
  readonly context: ProviderContext;
  readonly settings: EngineSettings;
  readonly dial: DialSettings;
  /** How long the engine may stay silent before it counts as unreachable. */
  readonly timeoutMs: number;
  readonly host: HostReader;
  /** False where the engine's address says that it is on another machine; otherwise measuring finds out. */
  readonly mayBeLocal: boolean;
  /** Lets go of the transport. */
  readonly disconnect: () => void;
}

/** Lost with the machine's next start, as the mounts in it are. UIDs of pods keep nodes apart. */
const BINDS_DIRECTORY = '/run/outrigger/subpaths';
/** Time for the last tidying; a process that is going down does not wait for an engine that hangs. */
const CLOSE_TIMEOUT_MS = 3_000;

export class EngineProvider implements ContainerProvider {
  readonly kind = 'container';
  readonly name: string;
  readonly images: ImageFacet;
  readonly logs: LogFacet;
  readonly stats: StatsFacet;
  readonly exec: ExecFacet;
  readonly attach: AttachFacet;
  readonly files: FileFacet;
  readonly dial: DialFacet;
  readonly #engine: Engine;
  readonly #host: HostReader;
  readonly #disconnect: () => void;
  readonly #cache = new DetailsCache();
  readonly #places: SandboxPlaces;
  readonly #dialer: Dialer;
  readonly #held: HeldVolumes;
  readonly #network: NodeNetwork;
  readonly #observer: Observer;
  readonly #volumes: PodVolumes;
  readonly #sandboxes: Sandboxes;
  readonly #containers: Containers;
  readonly #sessions: Sessions;
  readonly #hostPaths: HostPaths;
  readonly #mayBeLocal: boolean;
  readonly #binder = new LocalBinder(BINDS_DIRECTORY);
  /** Whether the engine sees what the binder mounts; undefined until it was tried. */
  #sharesMounts: boolean | undefined;

  constructor(options: EngineProviderOptions) {
    const { docker, context, settings } = options;
    const calls = new EngineCalls(context.clock, options.timeoutMs);
    const engine: Engine = { docker, calls, context };
    const images = new EngineImages(engine);
    this.name = options.name;
    this.#held = new HeldVolumes(context.clock);
    this.#engine = engine;
    this.#host = options.host;
    this.#disconnect = options.disconnect;
    this.#network = new NodeNetwork(docker, calls, context);
    this.#places = new SandboxPlaces(engine, () => options.host.address());
    this.#dialer = new Dialer(engine, options.dial, { places: this.#places, images });
    this.#observer = new Observer(engine, this.#cache, this.#held, this.#dialer.relays);
    this.#volumes = new PodVolumes(engine, this.#held);
    this.#mayBeLocal = options.mayBeLocal;
    this.#hostPaths = new HostPaths(engine, { image: settings.sandboxImage, images });
    const subPaths = new SubPaths(engine, () => (this.#sharesMounts === true ? this.#binder : undefined));
    this.#sandboxes = new Sandboxes(engine, settings, {
      network: this.#network,
      volumes: this.#volumes,
      hostPaths: this.#hostPaths,
      // Mounts of an earlier process too: nothing is asked of the engine.
      releaseBinds: (uid) => (this.#mayBeLocal ? this.#binder.release(uid) : Promise.resolve()),
      images,
    });
    this.#containers = new Containers(engine, settings, subPaths);
    this.#sessions = new Sessions(engine);
    this.exec = new EngineExec(engine, this.#sessions);
    this.attach = new EngineAttach(engine, this.#sessions);
    this.files = new MessageFiles(engine);
    this.images = images;
    this.dial = this.#dialer;
    this.stats = new EngineStats(engine, { mayBeLocal: options.mayBeLocal });
    this.logs = { logs: (ref, request, call) => readLogs(engine, ref, request, call) };
  }

  validate(spec: PodPlanSpec): readonly Violation[] {
    return violations(spec);
  }

  /** Known in full once the host was described. */
  get traits(): ProviderTraits {
    return this.#sharesMounts === true ? { ...ENGINE_TRAITS, subPaths: 'all' } : ENGINE_TRAITS;
  }

  async describeHost(options: CallOptions): Promise<HostReport> {
    const report = await describeHost(this.#engine, this.#host, options);
    if (this.#sharesMounts === undefined) await this.#tryBinder(options);
    return report;
  }

  /** Again at the next look at the host while the engine has no image to try it with; that is pulled once. */
  async #tryBinder(options: CallOptions): Promise<void> {
    if (!this.#mayBeLocal) {
      this.#sharesMounts = false;
    } else if (await this.#hostPaths.canLook(options)) {
      this.#sharesMounts = await sharesMounts(BINDS_DIRECTORY, this.#hostPaths, options);
    }
  }

  list(options: CallOptions): Promise<readonly ObservedPod[]> {
    return this.#observer.list(options);
  }

  inspect(uid: PodUid, options: CallOptions): Promise<ObservedPod | undefined> {
    return this.#observer.inspect(uid, options);
  }

  watch(options: CallOptions): AsyncIterable<ProviderHint> {
    this.#held.clear();
    return this.#places.follow(watchEvents(this.#engine, this.#cache, options));
  }

  ensureSandbox(spec: SandboxSpec, options: CallOptions): Promise<void> {
    return this.#sandboxes.ensure(spec, options);
  }

  startContainer(sandbox: SandboxSpec, spec: ContainerSpec, options: CallOptions): Promise<void> {
    return this.#containers.start(sandbox, spec, options);
  }

  stopContainer(ref: ContainerRef, request: StopRequest, options: CallOptions): Promise<void> {
    return this.#containers.stop(ref, request, options);
  }

  removeContainer(ref: ContainerRef, options: CallOptions): Promise<void> {
    return this.#containers.remove(ref, options);
  }

  async stopSandbox(uid: PodUid, options: CallOptions): Promise<void> {
    await this.#dialer.forget(uid);
    await this.#sandboxes.stop(uid, options);
    await this.#dialer.forget(uid);
  }

  async removeSandbox(uid: PodUid, options: CallOptions): Promise<void> {
    await this.#dialer.forget(uid);
    await this.#sandboxes.remove(uid, options);
    await this.#dialer.forget(uid);
  }

  async updateFiles(uid: PodUid, volume: Extract<VolumeSpec, { kind: 'files' }>, options: CallOptions): Promise<void> {
    await this.#volumes.update(await this.#runningSandbox(uid, options), volume, options);
  }

  async readVolumeFile(
    uid: PodUid,
    volume: string,
    path: string,
    options: CallOptions,
  ): Promise<Uint8Array | undefined> {
    return readVolumeFile(this.#engine, await this.#runningSandbox(uid, options), volume, path, options);
  }

  async #runningSandbox(uid: PodUid, options: CallOptions): Promise<string> {
    const running = (await findSandboxes(this.#engine, uid, options)).find((info) => {
      const unit = decodeUnit(info.Labels);
      return unit?.kind === 'sandbox' && info.Names.includes(`/${sandboxName(unit.pod, unit.attempt)}`);
    });
    if (running?.State !== 'running') throw new ProviderError('NotFound', `pod ${uid} has no running sandbox`);
    return running.Id;
  }

  /** The network goes when nobody uses it; pods stay as they are. */
  async close(): Promise<void> {
    this.#sessions.close();
    const { clock, log } = this.#engine.context;
    const ended = new AbortController();
    const { signal } = ended;
    const late = clock.sleep(CLOSE_TIMEOUT_MS, { signal }).then(
      () => ended.abort(),
      () => {},
    );
    try {
      await untilAborted(this.#dialer.close(), signal);
      await this.#network.removeIfUnused({ signal });
    } catch (error) {
      log.debug({ err: error }, 'pod network was not removed');
    } finally {
      ended.abort();
      await late;
      this.#disconnect();
    }
  }
}

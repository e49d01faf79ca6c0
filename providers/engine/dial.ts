import type { Duplex } from 'node:stream';
import { type CallOptions, type DialFacet, type DialTarget, type PodUid, ProviderError } from '../contract/index.ts';
import type { Reach } from './dial-tcp.ts';
import type { Engine } from './engine.ts';
import { NetnsDialer } from './netns-dialer.ts';
import { NetnsEntryError } from './netns-helper.ts';
import type { RelaySettings } from './relay.ts';
import { Relays } from './relays.ts';
import type { SandboxPlace, SandboxPlaces } from './sandbox-places.ts';
import { inspectContainer } from './units.ts';

/** How the loopback of a pod is reached; 'auto' enters its network namespace where that is possible, and relays otherwise. */
type PortForwardWay = 'auto' | 'netns' | 'relay';

export interface DialSettings {
  /** Absent where neither pods nor their neighbours can be reached from here: an engine on another machine. */
  readonly reach?: Reach;
  readonly way: PortForwardWay;
  readonly relayImage: string;
}

interface DialerParts {
  readonly places: SandboxPlaces;
  readonly images: RelaySettings['images'];
}

/** Chooses the way to a target; the ways themselves know nothing of each other. */
export class Dialer implements DialFacet {
  readonly relays: Relays;
  readonly #engine: Engine;
  readonly #settings: DialSettings;
  readonly #places: SandboxPlaces;
  readonly #netns: NetnsDialer;
  #told = false;

  constructor(engine: Engine, settings: DialSettings, { places, images }: DialerParts) {
    const { clock, signal } = engine.context;
    this.relays = new Relays(engine, { image: settings.relayImage, images });
    this.#engine = engine;
    this.#settings = settings;
    this.#places = places;
    this.#netns = new NetnsDialer({
      clock,
      signal,
      pidOf: async (sandboxId, options) => {
        const state = (await inspectContainer(engine, sandboxId, options))?.State;
        return state?.Running === true ? state.Pid : undefined;
      },
    });
  }

  async dial(uid: PodUid, target: DialTarget, options: CallOptions): Promise<Duplex> {
    const { reach } = this.#settings;
    const place = await this.#places.find(uid, options);
    const [address] = place.ips;
    switch (target.to) {
      case 'pod':
        if (address === undefined) throw new ProviderError('NotFound', `pod ${uid} has no address`);
        if (reach === undefined) return this.relays.dial(place, [address], target.port, options);
        return reach(address, target.port, options);
      case 'host':
        if (reach !== undefined) return reach(target.host, target.port, options);
        throw new ProviderError(
          'Unsupported',
          `${target.host} cannot be dialled from the machine of an engine that is reached through TCP`,
        );
      case 'loopback':
        return this.#loopback(place, target.port, options);
    }
  }

  /** What there is for the pod's connections ends; the pod's network is about to. */
  async forget(uid: PodUid): Promise<void> {
    this.#places.forget(uid);
    await Promise.all([this.#netns.forget(uid), this.relays.forget(uid)]);
  }

  async close(): Promise<void> {
    await Promise.all([this.#netns.close(), this.relays.close()]);
  }

  async #loopback(place: SandboxPlace, port: number, options: CallOptions): Promise<Duplex> {
    const { way } = this.#settings;
    if (way !== 'relay') {
      try {
        return await this.#netns.dial(place, port, options);
      } catch (error) {
        if (!(error instanceof NetnsEntryError)) throw error;
        if (way === 'netns') {
          const message = `${error.message}; "portForward: relay" needs no access to it`;
          throw new ProviderError('Unsupported', message, { cause: error });
        }
        if (!this.#told)
          this.#engine.context.log.info(
            { err: error },
            'connections to the loopback of pods go through relay containers',
          );
        this.#told = true;
      }
    }
    return this.relays.dial(place, ['127.0.0.1', '::1'], port, options);
  }
}

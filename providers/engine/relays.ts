import type { Duplex } from 'node:stream';
import type Docker from 'dockerode';
import { type CallOptions, isProviderError } from '../contract/index.ts';
import { LABEL } from '../shared/unit-labels.ts';
import type { Engine } from './engine.ts';
import { OnDemand, type SandboxKey } from './on-demand.ts';
import { Relay, type RelaySettings, relayName } from './relay.ts';
import { removeByForce } from './units.ts';

/** Reaches what pods can reach from containers of ours in their networks. */
export class Relays {
  readonly #engine: Engine;
  readonly #relays: OnDemand<{ readonly relay: Relay; readonly name: string }>;
  /** Of this process, from before the engine hears of them. */
  readonly #names = new Set<string>();

  constructor(engine: Engine, settings: RelaySettings) {
    this.#engine = engine;
    const { clock, signal } = engine.context;
    this.#relays = new OnDemand({
      clock,
      make: async (key) => {
        const name = relayName(key);
        this.#names.add(name);
        try {
          return { relay: await Relay.start(engine, settings, name, key, { signal }), name };
        } catch (error) {
          this.#names.delete(name);
          throw error;
        }
      },
      end: async ({ relay, name }) => {
        await relay.end();
        this.#names.delete(name);
      },
    });
  }

  /** The first address that somebody listens on. The relay stays for as long as the connection does, and a while longer. */
  async dial(key: SandboxKey, addresses: readonly string[], port: number, options: CallOptions): Promise<Duplex> {
    for (let first = true; ; first = false) {
      const { thing, release, discard } = await this.#relays.borrow(key);
      try {
        const stream = await thing.relay.dial(addresses, port, options);
        if (stream.closed) release();
        else stream.once('close', release);
        return stream;
      } catch (error) {
        release();
        const isGone = !thing.relay.alive || isProviderError(error, 'NotFound');
        if (isGone) discard();
        // Somebody has removed it since it was used last.
        if (!isGone || !first || options.signal.aborted) throw error;
      }
    }
  }

  /**
   * Removes relays of an earlier process. Normally they end with it, by losing their standard input; `present` is what carries our
   * labels on the engine. Never rejects.
   */
  async removeOrphans(present: readonly Docker.ContainerInfo[]): Promise<void> {
    const orphans = present.filter(
      ({ Labels, Names }) => Labels[LABEL.kind] === 'relay' && !Names.some((name) => this.#names.has(name.slice(1))),
    );
    const { signal, log } = this.#engine.context;
    for (const { Id } of orphans) {
      try {
        await removeByForce(this.#engine, Id, { signal });
      } catch (error) {
        log.debug({ err: error, container: Id }, 'a relay of an earlier process was not removed');
      }
    }
  }

  forget(uid: SandboxKey['uid']): Promise<void> {
    return this.#relays.forget(uid);
  }

  close(): Promise<void> {
    return this.#relays.close();
  }
}

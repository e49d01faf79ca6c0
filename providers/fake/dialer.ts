import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { type CallOptions, type DialFacet, type DialTarget, type PodUid, ProviderError } from '../contract/index.ts';
import type { FakeBackend } from './backend.ts';
import type { FakePod } from './pod.ts';
import { connect, refused, takes } from './servers.ts';

interface DialerParts {
  readonly backend: FakeBackend;
  /** Throws NotFound for a pod that is not this node's. */
  readonly existing: (uid: PodUid) => FakePod;
}

const NEVER = new AbortController().signal;

/** Connects to what scripts say that containers listen on. */
export class FakeDialer implements DialFacet {
  readonly #backend: FakeBackend;
  readonly #existing: (uid: PodUid) => FakePod;

  constructor({ backend, existing }: DialerParts) {
    this.#backend = backend;
    this.#existing = existing;
  }

  dial(uid: PodUid, target: DialTarget, options: CallOptions): Promise<Duplex> {
    const where = target.to === 'host' ? target.host : target.to;
    const call = { method: 'dial', subject: uid, detail: `${where}:${target.port}` } as const;
    return this.#backend.faults.run(call, options, () => {
      const pod = this.#existing(uid);
      if (pod.ips.length === 0) throw new ProviderError('NotFound', `pod ${uid} has no network`);
      return target.to === 'host' ? this.#host(target, options) : this.#pod(pod, target, options);
    });
  }

  async #pod(pod: FakePod, target: DialTarget, options: CallOptions): Promise<Duplex> {
    for (const container of [...pod.containers.values()].reverse()) {
      const server = container.servers.findLast((one) => takes(one, target));
      if (server !== undefined)
        return connect(server, { ...options, clock: this.#backend.clock, ended: container.ended });
    }
    throw refused();
  }

  async #host({ host, port }: Extract<DialTarget, { to: 'host' }>, options: CallOptions): Promise<Duplex> {
    const neighbour = [...this.#backend.pods.values()].find(({ ips }) => ips.includes(host));
    if (neighbour !== undefined) return this.#pod(neighbour, { to: 'pod', port }, options);
    const servers = this.#backend.hosts.get(host);
    if (servers === undefined) {
      const words = isIP(host) === 0 ? `lookup ${host}: no such host` : 'connect: no route to host';
      throw new ProviderError('Unreachable', words);
    }
    const server = servers.findLast((one) => one.port === port);
    if (server === undefined) throw refused();
    return connect(server, { ...options, clock: this.#backend.clock, ended: NEVER });
  }
}

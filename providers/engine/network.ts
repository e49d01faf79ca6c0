import type Docker from 'dockerode';
import { type CallOptions, type ProviderContext, ProviderError } from '../contract/index.ts';
import { hasLabels, LABEL } from '../shared/unit-labels.ts';
import { networkName } from '../shared/unit-names.ts';
import type { EngineCalls } from './calls.ts';
import { statusBehind } from './errors.ts';
import { subnetsOverlap } from './subnets.ts';

type NetworkContext = Pick<ProviderContext, 'nodeName' | 'ownerLabels' | 'signal' | 'clock'>;

const CREATE_TRIES = 20;
const CREATE_POLL_MS = 100;
const RELEASE_TRIES = 15;
const RELEASE_POLL_MS = 200;

/** The node's own bridge network; all its pods are on it. */
export class NodeNetwork {
  readonly name: string;
  readonly #docker: Docker;
  readonly #calls: EngineCalls;
  readonly #context: NetworkContext;
  /** Pods that start together wait for one creation. A cache only: dropped whenever something does not work. */
  #ensured: { readonly subnet: string; readonly done: Promise<void> } | undefined;

  constructor(docker: Docker, calls: EngineCalls, context: NetworkContext) {
    this.name = networkName(context.nodeName);
    this.#docker = docker;
    this.#calls = calls;
    this.#context = context;
  }

  async ensure(subnet: string, { signal }: CallOptions): Promise<void> {
    if (this.#ensured?.subnet !== subnet) {
      // Shared by several callers, so it ends with the process and not with the first caller's signal.
      const done = this.#ensure(subnet, { signal: this.#context.signal });
      const ensured = { subnet, done };
      this.#ensured = ensured;
      done.catch(() => {
        if (this.#ensured === ensured) this.#ensured = undefined;
      });
    }
    const { done } = this.#ensured;
    await this.#calls.call('make the pod network', { signal }, () => done);
  }

  /** The next `ensure` looks again. */
  forget(): void {
    this.#ensured = undefined;
  }

  /** Removes the network unless something is attached to it. */
  async removeIfUnused(options: CallOptions): Promise<void> {
    this.forget();
    for (const { Id } of await this.#find(options)) {
      // A busy engine holds the endpoint of a container that is gone for a moment longer, and refuses until then.
      for (let tries = 1; (await this.#removeUnused(Id, options)) === 'refused' && tries < RELEASE_TRIES; tries++)
        await this.#context.clock.sleep(RELEASE_POLL_MS, options);
    }
  }

  async #ensure(subnet: string, options: CallOptions): Promise<void> {
    for (let tries = 1; ; tries++) {
      if (await this.#isThere(subnet, options)) return;
      try {
        await this.#create(subnet, options);
        return;
      } catch (error) {
        const other = await this.#overlapping(subnet, error, options);
        if (other !== undefined) throw other;
        // Someone is quicker, perhaps this process before it was killed: the range is taken already, the network not yet listed.
        if (statusBehind(error) === undefined || tries >= CREATE_TRIES) throw error;
        await this.#context.clock.sleep(CREATE_POLL_MS, options);
      }
    }
  }

  async #isThere(subnet: string, options: CallOptions): Promise<boolean> {
    let there = false;
    for (const found of await this.#find(options)) {
      if (!hasLabels(found.Labels, this.#context.ownerLabels)) {
        throw new ProviderError('AlreadyExists', `network "${this.name}" exists and does not belong to this node`);
      }
      const present = subnetsOf(found);
      if (present.includes(subnet)) {
        there = true;
        continue;
      }
      if ((await this.#removeUnused(found.Id, options)) !== 'removed') {
        const message = `network "${this.name}" has subnet ${present.join(', ')} and is in use; wanted is ${subnet}`;
        throw new ProviderError('AlreadyExists', message, { reason: 'PodNetworkInUse' });
      }
    }
    return there;
  }

  async #find({ signal }: CallOptions): Promise<readonly Docker.NetworkInspectInfo[]> {
    const networks = await this.#calls.call('list networks', { signal }, (abortSignal) =>
      this.#docker.listNetworks({ filters: { name: [this.name] }, abortSignal }),
    );
    // The engine's filter matches parts of names.
    return networks.filter(({ Name }) => Name === this.name);
  }

  async #create(subnet: string, { signal }: CallOptions): Promise<void> {
    await this.#calls.call('create the pod network', { signal }, (abortSignal) =>
      this.#docker.createNetwork({
        Name: this.name,
        Driver: 'bridge',
        CheckDuplicate: true,
        IPAM: { Driver: 'default', Config: [{ Subnet: subnet }] },
        Labels: { ...this.#context.ownerLabels, [LABEL.kind]: 'network' },
        abortSignal,
      }),
    );
  }

  async #removeUnused(id: string, { signal }: CallOptions): Promise<'removed' | 'used' | 'refused'> {
    const network = this.#docker.getNetwork(id);
    try {
      const details = await this.#calls.call('inspect a network', { signal }, () => network.inspect());
      if (Object.keys(details.Containers ?? {}).length > 0) return 'used';
      await this.#calls.call('remove a network', { signal }, (abortSignal) => network.remove({ abortSignal }));
      return 'removed';
    } catch (error) {
      const status = statusBehind(error);
      if (status === 404) return 'removed';
      // "has active endpoints": a pod came in between, or one that went is still counted.
      if (status === 403 || status === 409) return 'refused';
      throw error;
    }
  }

  /** The engine says only that some pool overlaps; an operator needs to know which. */
  async #overlapping(subnet: string, error: unknown, { signal }: CallOptions): Promise<ProviderError | undefined> {
    if (statusBehind(error) === undefined) return undefined;
    const networks = await this.#calls.call('list networks', { signal }, (abortSignal) =>
      this.#docker.listNetworks({ abortSignal }),
    );
    const foreign = networks.filter(({ Name }) => Name !== this.name);
    const other = foreign.find((network) => subnetsOf(network).some((taken) => subnetsOverlap(taken, subnet)));
    if (other === undefined) return undefined;
    const message =
      `the pod network ${subnet} overlaps with the engine's network "${other.Name}" (${subnetsOf(other).join(', ')}); ` +
      'give the node another pod CIDR or remove that network';
    return new ProviderError('Internal', message, { cause: error, reason: 'PodNetworkOverlaps' });
  }
}

function subnetsOf(network: Docker.NetworkInspectInfo): readonly string[] {
  return (network.IPAM?.Config ?? []).flatMap(({ Subnet }) => (Subnet === undefined ? [] : [Subnet]));
}

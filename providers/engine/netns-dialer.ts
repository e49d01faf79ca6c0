import type { Duplex } from 'node:stream';
import { type CallOptions, type ProviderContext, ProviderError } from '../contract/index.ts';
import { NetnsEntryError, NetnsHelper } from './netns-helper.ts';
import { OnDemand, type SandboxKey } from './on-demand.ts';
import { type ProvenProcess, proveProcess } from './proc.ts';

export interface NetnsDialerOptions {
  readonly clock: ProviderContext['clock'];
  /** PID of the sandbox in the engine's words; undefined when it does not run. */
  readonly pidOf: (sandboxId: string, options: CallOptions) => Promise<number | undefined>;
  readonly signal: AbortSignal;
  /** Seams for tests. */
  readonly prove?: (pid: number, containerId: string) => ProvenProcess | undefined;
  readonly helper?: (proven: ProvenProcess) => Pick<NetnsHelper, 'dial' | 'end' | 'alive'>;
}

/** Reaches the loopback of pods by processes of ours that enter their network namespaces. */
export class NetnsDialer {
  readonly #helpers: OnDemand<Pick<NetnsHelper, 'dial' | 'end' | 'alive'>>;

  constructor({ clock, pidOf, signal, prove = proveProcess, helper = make }: NetnsDialerOptions) {
    this.#helpers = new OnDemand({
      clock,
      make: async ({ sandboxId }) => {
        const pid = await pidOf(sandboxId, { signal });
        if (pid === undefined) throw new ProviderError('NotFound', "the pod's sandbox is not running");
        const proven = prove(pid, sandboxId);
        if (proven !== undefined) return helper(proven);
        throw new NetnsEntryError(`process ${pid} of the pod's sandbox is not in our PID namespace`);
      },
      end: (made) => made.end(),
    });
  }

  /** Throws NetnsEntryError where this way is closed. */
  async dial(key: SandboxKey, port: number, options: CallOptions): Promise<Duplex> {
    const { thing: helper, release, discard } = await this.#helpers.borrow(key);
    try {
      return await helper.dial(port, options);
    } finally {
      // What it has handed over does not need it any more.
      release();
      if (!helper.alive) discard();
    }
  }

  forget(uid: SandboxKey['uid']): Promise<void> {
    return this.#helpers.forget(uid);
  }

  close(): Promise<void> {
    return this.#helpers.close();
  }
}

function make(proven: ProvenProcess): NetnsHelper {
  return new NetnsHelper(proven);
}

import { isConflict, isNotFound } from '../kube/errors.ts';
import { type Lease, type LeaseApi, microTime } from '../kube/nodes.ts';
import type { Logger } from '../telemetry/logger.ts';
import { backoffDelayMs, withJitter } from '../util/backoff.ts';
import type { Clock } from '../util/clock.ts';

/** A quarter of the duration (reference 5.8). */
const RENEW_FRACTION = 0.25;
const RENEW_JITTER = 0.04;
const RETRY = { baseMs: 200, maxMs: 7_000 };

export interface NodeLeaseOptions {
  readonly nodeName: string;
  readonly durationSeconds: number;
  readonly leases: Pick<LeaseApi, 'get' | 'create' | 'replace'>;
  /** Of the Node object as it is now; the owner of the Lease. */
  readonly nodeUid: () => string | undefined;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Pick<Logger, 'info' | 'warn' | 'debug'>;
}

/** Says "this kubelet is alive", whatever the backend does: a silent one is taken for a lost node after 40 to 50 s. */
export class NodeLease {
  readonly #options: NodeLeaseOptions;
  #latest: Lease | undefined;
  #failures = 0;

  constructor(options: NodeLeaseOptions) {
    this.#options = options;
  }

  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    const { clock, random, durationSeconds } = this.#options;
    while (!signal.aborted) {
      await this.#renewLogged(signal);
      const intervalMs = withJitter(durationSeconds * 1000 * RENEW_FRACTION, RENEW_JITTER, random);
      const retryMs = withJitter(backoffDelayMs(RETRY, this.#failures), 0.5, random);
      const pauseMs = this.#failures > 0 ? Math.min(retryMs, intervalMs) : intervalMs;
      await clock.sleep(pauseMs, { signal }).catch(() => {}); // only an abort rejects; the loop's condition sees it
    }
  }

  async #renewLogged(signal: AbortSignal): Promise<void> {
    const { log } = this.#options;
    try {
      await this.#renew(signal);
      if (this.#failures > 0) log.info({ failures: this.#failures }, 'node lease renewed again');
      this.#failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      this.#failures++;
      // Whatever it was, the next try starts from what the API server has.
      this.#latest = undefined;
      log[this.#failures === 1 ? 'warn' : 'debug']({ err: error, failures: this.#failures }, 'node lease not renewed');
    }
  }

  async #renew(signal: AbortSignal): Promise<void> {
    const { leases, nodeName } = this.#options;
    this.#latest ??= await leases.get(nodeName, { signal });
    if (this.#latest === undefined) {
      this.#latest = await leases.create(this.#next({ metadata: { name: nodeName } }), { signal });
      return;
    }
    try {
      this.#latest = await leases.replace(this.#next(this.#latest), { signal });
    } catch (error) {
      // Gone: its owner, a Node that was deleted, took it along.
      if (!isConflict(error) && !isNotFound(error)) throw error;
      const current = await leases.get(nodeName, { signal });
      this.#latest =
        current === undefined
          ? await leases.create(this.#next({ metadata: { name: nodeName } }), { signal })
          : await leases.replace(this.#next(current), { signal });
    }
  }

  #next(lease: Lease): Lease {
    const { nodeName, durationSeconds, nodeUid, clock } = this.#options;
    const uid = nodeUid();
    const namespace = 'kube-node-lease';
    return {
      ...lease,
      metadata: {
        ...lease.metadata,
        namespace,
        ...(uid !== undefined && { ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid }] }),
      },
      spec: {
        ...lease.spec,
        holderIdentity: nodeName,
        leaseDurationSeconds: durationSeconds,
        renewTime: microTime(clock.now()),
      },
    };
  }
}

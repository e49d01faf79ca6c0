import type { ContainerRef, DialFacet, ExecFacet } from '../../providers/contract/index.ts';
import { type Container, formatPod, type Pod } from '../model/pod.ts';
import { KUBERNETES_VERSION } from '../model/version.ts';
import type { Clock } from '../util/clock.ts';
import { type Attempt, errored } from './handlers/attempt.ts';
import { Deadline } from './handlers/deadline.ts';
import { Dialer } from './handlers/dialing.ts';
import { probeCommand, probeExec } from './handlers/exec.ts';
import { probeGrpc } from './handlers/grpc.ts';
import { probeHttp } from './handlers/http.ts';
import { resolvePort } from './handlers/ports.ts';
import { probeTcp } from './handlers/tcp.ts';

export type Probe = NonNullable<Container['livenessProbe']>;

/** As the kubelet's: the release without its patch (reference 4.5). */
const USER_AGENT = `kube-probe/${KUBERNETES_VERSION.replace(/^v(\d+\.\d+).*$/, '$1')}`;
/** Tries while the question itself goes wrong (reference 4.3). */
const MAX_ATTEMPTS = 3;

export interface RunnerOptions {
  readonly exec?: ExecFacet;
  readonly dial?: DialFacet;
  readonly clock: Clock;
  readonly random: () => number;
}

/** Whom to ask. */
export interface ProbeTarget {
  readonly pod: Pod;
  readonly container: Container;
  readonly ref: ContainerRef;
  readonly podIP: string;
}

/** Asks once what a probe asks, by whatever way the probe names. */
export class ProbeRunner {
  readonly #options: RunnerOptions;

  constructor(options: RunnerOptions) {
    this.#options = options;
  }

  /** Rejects only for a bug. What an aborted call answers means nothing. */
  async ask(probe: Probe, target: ProbeTarget, { signal }: { readonly signal: AbortSignal }): Promise<Attempt> {
    for (let attempts = 1; ; attempts++) {
      const attempt = await this.#once(probe, target, signal);
      if (attempt.type !== 'errored' || attempts >= MAX_ATTEMPTS || signal.aborted) return attempt;
    }
  }

  async #once(probe: Probe, target: ProbeTarget, signal: AbortSignal): Promise<Attempt> {
    const { exec, dial, clock, random } = this.#options;
    const { pod, container, ref, podIP } = target;
    using deadline = new Deadline(clock, (probe.timeoutSeconds ?? 1) * 1000, signal);
    if (probe.exec !== undefined) {
      if (exec === undefined) return errored('the provider cannot run commands in containers');
      return await probeExec(exec, ref, probeCommand(probe.exec.command ?? [], container), deadline);
    }
    if (dial === undefined) return errored('the provider cannot connect to pods');
    const dialer = new Dialer(dial, ref.podUid);
    if (probe.httpGet !== undefined) {
      return await probeHttp(probe.httpGet, { dialer, container, podIP, userAgent: USER_AGENT }, deadline);
    }
    if (probe.tcpSocket !== undefined) {
      const port = resolvePort(probe.tcpSocket.port, container);
      if (typeof port !== 'number') return errored(port.error);
      const { host } = probe.tcpSocket;
      return await probeTcp(dialer, { host: host ? host : podIP, toHost: Boolean(host) }, port, deadline);
    }
    if (probe.grpc !== undefined) {
      const { port, service = '' } = probe.grpc;
      return await probeGrpc({ dialer, podIP, port, service, userAgent: USER_AGENT, clock, random }, deadline);
    }
    return errored(`missing probe handler for ${formatPod(pod)}:${container.name}`);
  }
}

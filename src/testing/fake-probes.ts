import type { PodUid } from '../../providers/contract/index.ts';
import { podUid } from '../model/pod.ts';
import type { ProbeFailure } from '../model/stores.ts';
import type { ProbeControl, ProbeInput } from '../pod/ports.ts';

/** Results under the test's control; without any, every container is started and ready. */
export class FakeProbes implements ProbeControl {
  /** By container name; for the incarnation that is told. */
  readonly failures = new Map<string, { readonly attempt: number; readonly failure: ProbeFailure }>();
  readonly notStarted = new Set<string>();
  readonly notReady = new Set<string>();
  /** Newest input of each pod that has probes. */
  readonly inputs = new Map<PodUid, ProbeInput>();

  started(_uid: PodUid, container: string): boolean {
    return !this.notStarted.has(container);
  }

  ready(_uid: PodUid, container: string): boolean {
    return !this.notReady.has(container);
  }

  failure(_uid: PodUid, container: string, attempt: number): ProbeFailure | undefined {
    const entry = this.failures.get(container);
    return entry?.attempt === attempt ? entry.failure : undefined;
  }

  observe(): void {}

  sync(input: ProbeInput): void {
    this.inputs.set(podUid(input.pod), input);
  }

  forget(uid: PodUid): void {
    this.inputs.delete(uid);
  }
}

import type { CallOptions, PodPlanSpec, PodProvider, PodUid, StopRequest } from '../contract/index.ts';
import { ProviderError } from '../contract/index.ts';
import type { FakeBackend } from './backend.ts';
import { type FakeContext, FakeObserving, type FakeProviderOptions } from './observing.ts';
import { FakeUnit } from './unit.ts';

export class FakePodProvider extends FakeObserving implements PodProvider {
  readonly kind = 'pod';
  readonly containerRestart: 'backend' | 'none';

  constructor(backend: FakeBackend, context: FakeContext, options: FakeProviderOptions = {}) {
    super(backend, context, options);
    this.containerRestart = backend.config.containerRestart;
  }

  launchPod(spec: PodPlanSpec, options: CallOptions): Promise<void> {
    const { sandbox } = spec;
    return this.call(
      'launchPod',
      sandbox.pod.uid,
      options,
      () => {
        const attempt = this.own(sandbox.pod.uid)?.attempt;
        if (attempt !== undefined && attempt > sandbox.attempt)
          throw new ProviderError('AlreadyExists', `unit attempt ${attempt} exists, ${sandbox.attempt} was asked for`);
        if (attempt === sandbox.attempt) return;
        const pod = this.createPod(sandbox, 'pending');
        const unit = new FakeUnit(this.backend, pod, spec, (labels) => this.ownLabels(labels));
        pod.drive(unit, spec.graceSeconds);
        unit.launch();
      },
      `attempt ${sandbox.attempt}`,
    );
  }

  stopPod(uid: PodUid, request: StopRequest, options: CallOptions): Promise<void> {
    return this.call(
      'stopPod',
      uid,
      options,
      () => {
        const ceiling = this.traits.maxGraceSeconds ?? Number.POSITIVE_INFINITY;
        this.existing(uid).stop(Math.min(request.graceSeconds, ceiling), this.traits.graceAdjustable);
      },
      `grace ${request.graceSeconds}`,
    );
  }

  removePod(uid: PodUid, options: CallOptions): Promise<void> {
    return this.call('removePod', uid, options, () => {
      if (this.own(uid) !== undefined) this.backend.removePod(uid);
    });
  }
}

import type {
  CallOptions,
  ContainerProvider,
  ContainerRef,
  ContainerSpec,
  ImageFacet,
  PodUid,
  SandboxSpec,
  StopRequest,
} from '../contract/index.ts';
import { ProviderError } from '../contract/index.ts';
import type { FakeBackend } from './backend.ts';
import type { FakeContainer } from './container.ts';
import { type FakeContext, FakeObserving, type FakeProviderOptions } from './observing.ts';

export class FakeContainerProvider extends FakeObserving implements ContainerProvider {
  readonly kind = 'container';
  readonly images: ImageFacet = {
    imagePresent: (image, options) => this.call('imagePresent', image, options, () => this.backend.images.find(image)),
    pullImage: (image, _auth, options) =>
      this.call('pullImage', image, options, () => this.backend.images.pull(image, options)),
    listImages: (options) => this.call('listImages', '', options, () => this.backend.images.list()),
    removeImage: (id, options) => this.call('removeImage', id, options, () => this.backend.images.remove(id)),
  };

  constructor(backend: FakeBackend, context: FakeContext, options: FakeProviderOptions = {}) {
    super(backend, context, options);
  }

  ensureSandbox(spec: SandboxSpec, options: CallOptions): Promise<void> {
    return this.call('ensureSandbox', spec.pod.uid, options, () => {
      const attempt = this.own(spec.pod.uid)?.attempt;
      if (attempt !== undefined && attempt > spec.attempt)
        throw new ProviderError('AlreadyExists', `sandbox attempt ${attempt} exists, ${spec.attempt} was asked for`);
      if (attempt !== spec.attempt) this.createPod(spec, 'ready');
    });
  }

  startContainer(sandbox: SandboxSpec, spec: ContainerSpec, options: CallOptions): Promise<void> {
    const ref = { podUid: sandbox.pod.uid, container: spec.name, attempt: spec.attempt };
    return this.call('startContainer', subject(ref), options, async () => {
      const pod = this.existing(sandbox.pod.uid);
      const known = pod.find(spec.name, spec.attempt);
      if (known !== undefined) {
        if (!sameContent(known.spec, spec))
          throw new ProviderError('AlreadyExists', `container ${spec.name}#${spec.attempt} exists with other content`);
        if (known.state.status !== 'created') return;
      } else if (pod.state !== 'ready') {
        throw new ProviderError('NotFound', `the sandbox of pod ${sandbox.pod.uid} is ${pod.state}`);
      }
      const { targetContainer: target } = spec;
      if (
        known === undefined &&
        target !== undefined &&
        ![...pod.containers.values()].some(({ spec: { name } }) => name === target)
      )
        throw new ProviderError('Internal', `unable to find target container ${target}`, {
          reason: 'CreateContainerConfigError',
        });
      const container = known ?? this.#create(sandbox, spec);
      const { startMs } = this.backend.config.latency;
      if (startMs > 0) await this.backend.clock.sleep(startMs, options);
      container.start();
      if (container.startError !== undefined)
        throw new ProviderError('Internal', container.startError, { reason: 'StartError' });
    });
  }

  stopContainer(ref: ContainerRef, request: StopRequest, options: CallOptions): Promise<void> {
    return this.call(
      'stopContainer',
      subject(ref),
      options,
      () => this.#find(ref).stop(request.graceSeconds),
      `grace ${request.graceSeconds}`,
    );
  }

  removeContainer(ref: ContainerRef, options: CallOptions): Promise<void> {
    return this.call('removeContainer', subject(ref), options, () => {
      const container = this.own(ref.podUid)?.find(ref.container, ref.attempt);
      if (container === undefined) return;
      if (container.state.status === 'running')
        throw new ProviderError('Internal', `container ${subject(ref)} is running`);
      this.own(ref.podUid)?.forget(container);
    });
  }

  stopSandbox(uid: PodUid, options: CallOptions): Promise<void> {
    return this.call('stopSandbox', uid, options, () => {
      const pod = this.own(uid);
      if (pod !== undefined && pod.state !== 'stopped') pod.end();
    });
  }

  removeSandbox(uid: PodUid, options: CallOptions): Promise<void> {
    return this.call('removeSandbox', uid, options, () => {
      if (this.own(uid) !== undefined) this.backend.removePod(uid);
    });
  }

  #create(sandbox: SandboxSpec, spec: ContainerSpec): FakeContainer {
    const image = this.backend.images.find(spec.image);
    if (image === undefined) throw new ProviderError('ImageNotFound', `no such image: ${spec.image}`);
    const pod = this.existing(sandbox.pod.uid);
    return pod.add(spec, this.ownLabels(spec.labels), () => image.imageId, this.backend.scriptFor(pod, spec));
  }

  #find(ref: ContainerRef): FakeContainer {
    const container = this.existing(ref.podUid).find(ref.container, ref.attempt);
    if (container === undefined) throw new ProviderError('NotFound', `no such container: ${subject(ref)}`);
    return container;
  }
}

function subject(ref: ContainerRef): string {
  return `${ref.podUid}/${ref.container}#${ref.attempt}`;
}

/** Environment is left out: service variables may differ between a call whose reply was lost and its repetition. */
function sameContent(a: ContainerSpec, b: ContainerSpec): boolean {
  return (
    a.image === b.image &&
    JSON.stringify(a.command) === JSON.stringify(b.command) &&
    JSON.stringify(a.args) === JSON.stringify(b.args)
  );
}

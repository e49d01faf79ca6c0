import {
  type ImageFacet,
  isProviderError,
  type PodUid,
  type PulledImage,
  type RegistryAuth,
} from '../../providers/contract/index.ts';
import { type Container, type Pod, podUid, type Secret } from '../model/pod.ts';
import type { EventSink, ImageSource, PodEvent, PullResult } from '../pod/ports.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Clock } from '../util/clock.ts';
import { formatDuration } from '../util/duration.ts';
import { errorMessage } from '../util/errors.ts';
import { goQuote } from '../util/go-quote.ts';
import { credentialsFor, makeKeyring } from './credentials.ts';
import { PullBackoff } from './pull-backoff.ts';
import { readPullSecrets, type SecretReader } from './pull-secrets.ts';
import { InvalidReference, parseReference, withDefaultTag } from './reference.ts';
import { type PullLimits, SharedPulls } from './shared-pulls.ts';

/** The kubelet tries a pod whose sync failed again after 10 s (reference 2.5). */
const RETRY_MS = 10_000;
/** How long a status shows ErrImagePull before it turns into ImagePullBackOff; the kubelet's next sync does that after 1 to 15 s. */
const SHOW_ERROR_MS = 5_000;

export interface ImagePullerOptions {
  /** Absent for a backend that takes whole pods and pulls by itself: then only `auth` is of use. */
  readonly images?: ImageFacet;
  readonly secret: SecretReader;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
  readonly limits: PullLimits;
  readonly metrics?: {
    pulled(seconds: number, bytes: number): void;
    asked(policy: string, present: 'true' | 'false' | 'unknown', pull: 'true' | 'false'): void;
  };
}

interface CallOptions {
  readonly signal: AbortSignal;
}

/** Pull policy, back-off and events of container images (reference 2.5, 3.3; kubelet: pkg/kubelet/images). */
export class ImagePuller implements ImageSource {
  readonly #options: ImagePullerOptions;
  readonly #backoff: PullBackoff;
  readonly #pulls: SharedPulls | undefined;

  constructor(options: ImagePullerOptions) {
    this.#options = options;
    this.#backoff = new PullBackoff(options.clock);
    this.#pulls = options.images && new SharedPulls(options.images, options.clock, options.limits);
  }

  async ensure(pod: Pod, container: Container, fieldPath: string, { signal }: CallOptions): Promise<PullResult> {
    const request = new Request(this.#options, pod, container, fieldPath, signal);
    const secrets = await readPullSecrets(this.#options, pod, { signal });
    const result = await this.#decide(request, secrets);
    if (result.type === 'failed') request.emit('Warning', 'Failed', `Error: ${result.reason}`);
    return result;
  }

  /** For backends that pull by themselves: what the pod's pull secrets say about its images. Throws PullSecretError. */
  async auth(pod: Pod, { signal }: CallOptions): Promise<readonly RegistryAuth[]> {
    const keyring = makeKeyring(await readPullSecrets(this.#options, pod, { signal }));
    const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
    const found = [...initContainers, ...containers, ...ephemeralContainers].flatMap(({ image }) => {
      try {
        return credentialsFor(keyring, parseReference(image ?? ''));
      } catch (error) {
        if (error instanceof InvalidReference) return []; // the backend refuses the image in its own words
        throw error;
      }
    });
    return [...new Map(found.map((auth) => [JSON.stringify(auth), auth])).values()];
  }

  forget(uid: PodUid): void {
    this.#backoff.forget(uid);
  }

  async #decide(request: Request, secrets: readonly Secret[]): Promise<PullResult> {
    let image: string;
    try {
      image = withDefaultTag(request.image);
    } catch (error) {
      if (!(error instanceof InvalidReference)) throw error;
      return request.failed('InvalidImageName', error.message, 'InspectFailed');
    }
    if (request.policy !== 'Always') {
      const present = await this.#present(request, image);
      if (present !== undefined) {
        this.#options.metrics?.asked(request.policy, present.type === 'present' ? 'true' : 'unknown', 'false');
        return present;
      }
    }
    const looked = request.policy === 'Always' ? 'unknown' : 'false';
    this.#options.metrics?.asked(request.policy, looked, request.policy === 'Never' ? 'false' : 'true');
    if (request.policy === 'Never') {
      const message = `Container image ${request.quoted} is not present with pull policy of Never`;
      return request.failed('ErrImageNeverPull', message, 'ErrImageNeverPull');
    }
    return this.#pull(request, image, secrets);
  }

  async #present(request: Request, image: string): Promise<PullResult | undefined> {
    let present: PulledImage | undefined;
    try {
      present = await this.#options.images?.imagePresent(image, { signal: request.signal });
    } catch (error) {
      request.rethrow(error);
      this.#options.log.warn({ err: error, ...request.facts, image }, 'image not inspected');
      const message = `Failed to inspect image ${request.quoted}: ${errorMessage(error)}`;
      return request.failed('ImageInspectError', message, 'InspectFailed');
    }
    if (present === undefined) return undefined;
    const message = `Container image ${request.quoted} already present on machine and can be accessed by the pod`;
    request.emit('Normal', 'Pulled', message);
    return { type: 'present', image: present };
  }

  async #pull(request: Request, image: string, secrets: readonly Secret[]): Promise<PullResult> {
    if (this.#pulls === undefined) throw new Error('this backend pulls images by itself');
    const uid = podUid(request.pod);
    const backoff = this.#backoff.current(uid, request.image);
    if (backoff !== undefined) {
      const message = `Back-off pulling image ${request.quoted}`;
      request.emit('Normal', 'BackOff', message);
      const { untilMs: retryAtMs, error } = backoff;
      return { type: 'failed', reason: 'ImagePullBackOff', message: `${message}: ${error}`, retryAtMs };
    }
    request.emit('Normal', 'Pulling', `Pulling image ${request.quoted}`);
    const startedAt = this.#options.clock.now();
    try {
      const auth = credentialsFor(makeKeyring(secrets), parseReference(image));
      const pull = await this.#pulls.pull(image, auth, { signal: request.signal });
      const took = formatDuration(pull.durationMs);
      const waited = formatDuration(this.#options.clock.now() - startedAt);
      const size = pull.image.sizeBytes ?? 0;
      this.#options.metrics?.pulled(pull.durationMs / 1000, size);
      const message = `Successfully pulled image ${request.quoted} in ${took} (${waited} including waiting). Image size: ${size} bytes.`;
      request.emit('Normal', 'Pulled', message);
      return { type: 'present', image: pull.image };
    } catch (error) {
      request.rethrow(error);
      const { reason, message } = pullFailure(image, error);
      this.#options.log.warn({ err: error, ...request.facts, image }, 'image not pulled');
      request.emit('Warning', 'Failed', `Failed to pull image ${request.quoted}: ${errorMessage(error)}`);
      this.#backoff.failed(uid, request.image, `${reason}: ${message}`);
      return { type: 'failed', reason, message, retryAtMs: this.#options.clock.now() + SHOW_ERROR_MS };
    }
  }
}

/** One call of `ensure`: whom its events are about, and what ends it. */
class Request {
  readonly pod: Pod;
  readonly signal: AbortSignal;
  /** As written in the pod; events and back-off use this form. */
  readonly image: string;
  readonly quoted: string;
  readonly policy: 'Always' | 'IfNotPresent' | 'Never';
  readonly #options: Pick<ImagePullerOptions, 'events' | 'clock'>;
  readonly #fieldPath: string;

  constructor(
    options: Pick<ImagePullerOptions, 'events' | 'clock'>,
    pod: Pod,
    container: Container,
    fieldPath: string,
    signal: AbortSignal,
  ) {
    this.#options = options;
    this.#fieldPath = fieldPath;
    this.pod = pod;
    this.signal = signal;
    this.image = container.image ?? '';
    this.quoted = goQuote(this.image);
    this.policy = pullPolicy(container);
  }

  /** In log lines. */
  get facts(): { readonly pod: string; readonly uid: string } {
    const { namespace, name, uid } = this.pod.metadata;
    return { pod: `${namespace}/${name}`, uid };
  }

  emit(type: PodEvent['type'], reason: string, message: string): void {
    this.#options.events.pod(this.pod, { type, reason, message, fieldPath: this.#fieldPath });
  }

  /** A failure that asking again soon does not mend; the event says the same as the status. */
  failed(reason: string, message: string, eventReason: string): PullResult {
    this.emit('Warning', eventReason, message);
    return { type: 'failed', reason, message, retryAtMs: this.#options.clock.now() + RETRY_MS };
  }

  /** Says nothing about the image: the caller gave up, or the backend could not be asked. */
  rethrow(error: unknown): void {
    this.signal.throwIfAborted();
    // Not Throttled: of a pull that is the registry's answer, and the back-off of the image is the patience it asks for.
    if (isProviderError(error, 'Unavailable', 'Unauthorized')) throw error;
  }
}

/** The API server fills the policy in; the rest is its default rule. */
function pullPolicy({ image = '', imagePullPolicy }: Container): Request['policy'] {
  if (imagePullPolicy === 'Always' || imagePullPolicy === 'IfNotPresent' || imagePullPolicy === 'Never') {
    return imagePullPolicy;
  }
  return /:latest$/.test(image) || !/[:@][^/]*$/.test(image) ? 'Always' : 'IfNotPresent';
}

/** Backends may tell two more kinds apart, with the words of the CRI (reference 1.5). */
function pullFailure(image: string, error: unknown): { readonly reason: string; readonly message: string } {
  const message = errorMessage(error);
  const reason = isProviderError(error) ? error.reason : undefined;
  if (reason === 'RegistryUnavailable') {
    return { reason, message: `image pull failed for ${image} because the registry is unavailable: ${message}` };
  }
  if (reason === 'SignatureValidationFailed') {
    return { reason, message: `image pull failed for ${image} because the signature validation failed: ${message}` };
  }
  return { reason: 'ErrImagePull', message };
}

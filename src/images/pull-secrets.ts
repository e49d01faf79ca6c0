import type { PodUid } from '../../providers/contract/index.ts';
import { type Pod, podUid, type Secret } from '../model/pod.ts';
import type { EventSink } from '../pod/ports.ts';
import type { Logger } from '../telemetry/logger.ts';
import { ChildAbort, isAbortError } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';

/** One Secret that a pod of ours names; undefined when there is none. */
export type SecretReader = (
  uid: PodUid,
  namespace: string,
  name: string,
  options: { readonly signal: AbortSignal },
) => Promise<Secret | undefined>;

/** An API server that does not answer must not keep containers from restarting: the pull then goes on without this secret. */
const READ_TIMEOUT_MS = 5_000;

export interface PullSecretsOptions {
  readonly secret: SecretReader;
  readonly events: EventSink;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn'>;
}

/** The pod's imagePullSecrets; what cannot be read is named in an event, and left out (reference 2.5). */
export async function readPullSecrets(
  { secret, events, clock, log }: PullSecretsOptions,
  pod: Pod,
  { signal }: { readonly signal: AbortSignal },
): Promise<readonly Secret[]> {
  // Old API servers let empty names through (kubernetes issue 99454).
  const names = (pod.spec.imagePullSecrets ?? []).flatMap(({ name }) =>
    name === undefined || name === '' ? [] : [name],
  );
  const { namespace } = pod.metadata;
  const read = async (name: string): Promise<Secret | undefined> => {
    using child = new ChildAbort(signal);
    const cancel = clock.timer(READ_TIMEOUT_MS, () => child.abort(new Error('the API server did not answer in time')));
    try {
      return await secret(podUid(pod), namespace, name, { signal: child.signal });
    } catch (error) {
      if (isAbortError(error, signal)) throw error;
      log.warn({ err: error, pod: `${namespace}/${pod.metadata.name}`, secret: name }, 'pull secret not read');
      return undefined;
    } finally {
      cancel();
    }
  };
  const secrets = await Promise.all(names.map(read));
  const missing = names.filter((_, index) => secrets[index] === undefined);
  if (missing.length > 0) {
    events.pod(pod, {
      type: 'Warning',
      reason: 'FailedToRetrieveImagePullSecret',
      message: `Unable to retrieve some image pull secrets (${missing.join(', ')}); attempting to pull the image may not succeed.`,
    });
  }
  return secrets.filter((found) => found !== undefined);
}

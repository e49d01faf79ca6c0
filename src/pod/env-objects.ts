import type { CallOptions, PodUid, Provider } from '../../providers/contract/index.ts';
import { type ConfigMap, type Container, type Pod, podUid, type Secret } from '../model/pod.ts';
import { type EnvObjects, type EnvReference, envReferences } from '../spec/env-sources.ts';
import { isAbortError } from '../util/abort.ts';
import { isOutage } from './failure.ts';

/** Objects of the API server; undefined where there is none. Each is watched from the first question on, until the pod is forgotten. */
export interface ObjectSource {
  configMap(uid: PodUid, namespace: string, name: string, options: CallOptions): Promise<ConfigMap | undefined>;
  secret(uid: PodUid, namespace: string, name: string, options: CallOptions): Promise<Secret | undefined>;
}

type Outcome<T> = { readonly value: T | undefined } | { readonly error: unknown };

/**
 * Reads everything that a container's environment refers to, side by side. What could not be read throws when it is asked for: of
 * several failures the one is told that the kubelet, which reads as it goes, would meet first. Rejects when aborted, or when the
 * backend is away.
 */
export async function readEnvObjects(
  pod: Pod,
  container: Container,
  { objects, provider }: { readonly objects: ObjectSource; readonly provider: Pick<Provider, 'readVolumeFile'> },
  options: CallOptions,
): Promise<EnvObjects> {
  const uid = podUid(pod);
  const { namespace } = pod.metadata;
  const configMaps = new Map<string, Outcome<ConfigMap>>();
  const secrets = new Map<string, Outcome<Secret>>();
  const files = new Map<string, Outcome<Uint8Array>>();
  const read = async (reference: EnvReference): Promise<void> => {
    switch (reference.kind) {
      case 'ConfigMap': {
        const { name } = reference;
        configMaps.set(name, await outcome(objects.configMap(uid, namespace, name, options), options.signal));
        return;
      }
      case 'Secret': {
        const { name } = reference;
        secrets.set(name, await outcome(objects.secret(uid, namespace, name, options), options.signal));
        return;
      }
      case 'File': {
        const { volume, path } = reference;
        // Admission refuses env from files where the backend cannot read them.
        const content = provider.readVolumeFile?.(uid, volume, path, options) ?? Promise.resolve(undefined);
        files.set(fileKey(volume, path), await outcome(content, options.signal));
      }
    }
  };
  await Promise.all(envReferences(container).map(read));
  return {
    configMap: (name) => take(configMaps.get(name)),
    secret: (name) => take(secrets.get(name)),
    file: (volume, path) => take(files.get(fileKey(volume, path))),
  };
}

async function outcome<T>(call: Promise<T | undefined>, signal: AbortSignal): Promise<Outcome<T>> {
  try {
    return { value: await call };
  } catch (error: unknown) {
    if (isAbortError(error, signal) || isOutage(error)) throw error;
    return { error };
  }
}

function take<T>(found: Outcome<T> | undefined): T | undefined {
  if (found === undefined) return undefined;
  if ('error' in found) throw found.error;
  return found.value;
}

function fileKey(volume: string, path: string): string {
  return `${volume}/${path}`;
}

import type { ConfigMap, Pod, Secret } from '../model/pod.ts';
import { commonUser } from '../spec/security.ts';
import { isAbortError } from '../util/abort.ts';
import { type DownwardInput, downwardPayload } from './downward.ts';
import { throwTogether } from './failures.ts';
import { configMapPayload, type KeySelection, secretPayload } from './keys.ts';
import type { Payload, PayloadFile } from './payload.ts';
import type { TokenRequestInput } from './token.ts';
import type { TrustBundleSource } from './trust-bundle.ts';

type ProjectedVolume = NonNullable<NonNullable<Pod['spec']['volumes']>[number]['projected']>;
type Source = NonNullable<ProjectedVolume['sources']>[number];
type TokenSource = NonNullable<Source['serviceAccountToken']>;

/** Where content comes from; all but the downward one may wait for the API server. */
export interface SourceInput extends DownwardInput {
  configMap(name: string): Promise<ConfigMap | undefined>;
  secret(name: string): Promise<Secret | undefined>;
  token(request: TokenRequestInput): Promise<string>;
  trustBundle(source: TrustBundleSource): Promise<string>;
}

const DEFAULT_EXPIRATION_SECONDS = 3600;

/** Several sources in one directory, in order, later ones win on the same path (reference 9.5). */
export async function projectedPayload(
  sources: readonly Source[],
  defaultMode: number,
  input: SourceInput,
  signal: AbortSignal,
): Promise<Payload> {
  // Side by side, since each may be a round trip; the order counts only for merging and for the text of failures.
  const results = await Promise.allSettled(sources.map((source) => sourcePayload(source, defaultMode, input)));
  const merged = new Map<string, PayloadFile>();
  const failures: unknown[] = [];
  for (const result of results) {
    if (result.status === 'rejected') failures.push(result.reason);
    else for (const [path, file] of result.value) merged.set(path, file);
  }
  const aborted = failures.find((failure) => isAbortError(failure, signal));
  if (aborted !== undefined) throw aborted;
  throwTogether(failures);
  return merged;
}

async function sourcePayload(source: Source, defaultMode: number, input: SourceInput): Promise<Payload> {
  const { serviceAccountToken, configMap, secret, downwardAPI, clusterTrustBundle } = source;
  if (serviceAccountToken !== undefined) return tokenPayload(serviceAccountToken, defaultMode, input);
  if (configMap !== undefined) return configMapFiles(configMap.name ?? '', selection(configMap, defaultMode), input);
  if (secret !== undefined) return secretFiles(secret.name ?? '', selection(secret, defaultMode), input);
  if (downwardAPI !== undefined) return downwardPayload(input, downwardAPI.items ?? [], defaultMode);
  if (clusterTrustBundle !== undefined) {
    const data = Buffer.from(await input.trustBundle(clusterTrustBundle), 'utf8');
    return new Map([[clusterTrustBundle.path, privateFile(input.pod, defaultMode, data)]]);
  }
  throw new Error(`projected source is not supported yet: ${Object.keys(source).join(', ')}`);
}

/** The kubelet's selection of keys, from the form that volumes and projected sources share. */
export function selection(
  { items = [], optional = false }: { readonly items?: KeySelection['items']; readonly optional?: boolean },
  defaultMode: number,
): KeySelection {
  return { items, optional, defaultMode };
}

export async function configMapFiles(
  name: string,
  keys: KeySelection,
  input: Pick<SourceInput, 'configMap'>,
): Promise<Payload> {
  const object = await input.configMap(name);
  if (object === undefined && !keys.optional) throw new Error(`configmap "${name}" not found`);
  return configMapPayload(object ?? {}, keys);
}

export async function secretFiles(
  name: string,
  keys: KeySelection,
  input: Pick<SourceInput, 'secret'>,
): Promise<Payload> {
  const object = await input.secret(name);
  if (object === undefined && !keys.optional) throw new Error(`secret "${name}" not found`);
  return secretPayload(object ?? {}, keys);
}

async function tokenPayload(source: TokenSource, defaultMode: number, input: SourceInput): Promise<Payload> {
  const { audience = '', expirationSeconds = DEFAULT_EXPIRATION_SECONDS, path } = source;
  const { pod } = input;
  const token = await input.token({
    pod,
    serviceAccount: pod.spec.serviceAccountName ?? 'default',
    audiences: audience === '' ? [] : [audience],
    expirationSeconds,
  });
  return new Map([[path, privateFile(pod, defaultMode, Buffer.from(token, 'utf8'))]]);
}

/** Where all containers run as one user, the file is that user's alone; a group for volumes may read it later (reference 9.5). */
function privateFile(pod: Pod, defaultMode: number, data: Uint8Array): PayloadFile {
  const uid = commonUser(pod);
  const isPrivate = uid !== undefined || pod.spec.securityContext?.fsGroup !== undefined;
  return { mode: isPrivate ? 0o600 : defaultMode, ...(uid !== undefined && { uid }), data };
}

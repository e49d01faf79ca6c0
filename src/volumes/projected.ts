import type { VolumeSpec } from '../../providers/contract/index.ts';
import type { ConfigMap, Pod } from '../model/pod.ts';
import { commonUser } from '../spec/security.ts';
import { isAbortError } from '../util/abort.ts';
import { errorMessage } from '../util/errors.ts';
import { configMapPayload } from './configmap.ts';
import { downwardPayload } from './downward.ts';
import { type Payload, type PayloadFile, revisionOf, toFiles } from './payload.ts';
import type { TokenRequestInput } from './token.ts';

export type ProjectedVolume = NonNullable<NonNullable<Pod['spec']['volumes']>[number]['projected']>;
type Source = NonNullable<ProjectedVolume['sources']>[number];
type TokenSource = NonNullable<Source['serviceAccountToken']>;

/** Where content comes from; both may wait for the API server. */
export interface ProjectedInput {
  readonly pod: Pod;
  configMap(name: string): Promise<ConfigMap | undefined>;
  token(request: TokenRequestInput): Promise<string>;
}

const DEFAULT_MODE = 0o644;
const DEFAULT_EXPIRATION_SECONDS = 3600;

/** Several sources in one directory, in order, later ones win on the same path (reference 9.5). Always off disk. */
export async function projectedVolume(
  name: string,
  { sources = [], defaultMode = DEFAULT_MODE }: ProjectedVolume,
  input: ProjectedInput,
  signal: AbortSignal,
): Promise<VolumeSpec> {
  // Side by side, since each may be a round trip; the order counts only for merging and for the text of failures.
  const results = await Promise.allSettled(sources.map((source) => sourcePayload(source, defaultMode, input)));
  const merged = new Map<string, PayloadFile>();
  const failures: unknown[] = [];
  for (const result of results) {
    if (result.status === 'rejected') failures.push(result.reason);
    else for (const [path, file] of result.value) merged.set(path, file);
  }
  throwFailures(failures, signal);
  const files = toFiles(merged);
  return { kind: 'files', name, files, revision: revisionOf(files), medium: 'memory' };
}

async function sourcePayload(source: Source, defaultMode: number, input: ProjectedInput): Promise<Payload> {
  const { serviceAccountToken, configMap, downwardAPI } = source;
  if (serviceAccountToken !== undefined) return tokenPayload(serviceAccountToken, defaultMode, input);
  if (configMap !== undefined) {
    const { name = '', items = [], optional = false } = configMap;
    const object = await input.configMap(name);
    if (object === undefined && !optional) throw new Error(`configmap "${name}" not found`);
    return configMapPayload(object ?? {}, { items, optional, defaultMode });
  }
  if (downwardAPI !== undefined) return downwardPayload(input.pod, downwardAPI.items ?? [], defaultMode);
  throw new Error(`projected source is not supported yet: ${Object.keys(source).join(', ')}`);
}

async function tokenPayload(source: TokenSource, defaultMode: number, input: ProjectedInput): Promise<Payload> {
  const { audience = '', expirationSeconds = DEFAULT_EXPIRATION_SECONDS, path } = source;
  const { pod } = input;
  const token = await input.token({
    pod,
    serviceAccount: pod.spec.serviceAccountName ?? 'default',
    audiences: audience === '' ? [] : [audience],
    expirationSeconds,
  });
  const uid = commonUser(pod);
  const isPrivate = uid !== undefined || pod.spec.securityContext?.fsGroup !== undefined;
  const file = {
    mode: isPrivate ? 0o600 : defaultMode,
    ...(uid !== undefined && { uid }),
    data: Buffer.from(token, 'utf8'),
  };
  return new Map([[path, file]]);
}

/** One failure keeps its text; several are listed as Go's aggregate does, each text once. */
function throwFailures(failures: readonly unknown[], signal: AbortSignal): void {
  if (failures.length === 0) return;
  const aborted = failures.find((failure) => isAbortError(failure, signal));
  if (aborted !== undefined) throw aborted;
  const texts = [...new Set(failures.map(errorMessage))];
  const message = texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
  throw new Error(message, { cause: failures[0] });
}

import type { ProviderTraits } from '../../providers/contract/index.ts';
import type { Container, Pod } from '../model/pod.ts';
import { isMetadataField } from './field-path.ts';
import {
  both,
  each,
  fields,
  oneOf,
  provided,
  type Rule,
  supported,
  type Unsupported,
  unless,
} from './unsupported-rules.ts';

type Volume = NonNullable<Pod['spec']['volumes']>[number];
type Projected = NonNullable<Volume['projected']>;
type Source = NonNullable<Projected['sources']>[number];
type ConfigMapVolume = NonNullable<Volume['configMap']>;
type SecretVolume = NonNullable<Volume['secret']>;
type Downward = NonNullable<Volume['downwardAPI']>;
type KeyToPath = NonNullable<ConfigMapVolume['items']>[number];
type DownwardItem = NonNullable<Downward['items']>[number];
type ResourceField = NonNullable<DownwardItem['resourceFieldRef']>;
type TrustBundle = NonNullable<Source['clusterTrustBundle']>;
type Mount = NonNullable<Container['volumeMounts']>[number];

const otherKind: Rule = (_, path) => ({ path, why: 'volumes of this kind are not supported yet' });
const otherSource: Rule = (_, path) => ({ path, why: 'projected sources of this kind are not supported yet' });

const fieldPath: Rule = (value, path) =>
  typeof value === 'string' && isMetadataField(value)
    ? undefined
    : { path, why: `${JSON.stringify(value)} is not supported in a volume` };

const KEYS = each(fields<KeyToPath>({ key: supported, path: supported, mode: supported }));

const DOWNWARD_ITEMS = each(
  fields<DownwardItem>({
    path: supported,
    mode: supported,
    fieldRef: fields<NonNullable<DownwardItem['fieldRef']>>({ apiVersion: supported, fieldPath }),
    resourceFieldRef: fields<ResourceField>({ containerName: supported, resource: supported, divisor: supported }),
  }),
);

const SOURCE = fields<Source>(
  {
    serviceAccountToken: fields<NonNullable<Source['serviceAccountToken']>>({
      audience: supported,
      expirationSeconds: supported,
      path: supported,
    }),
    configMap: fields<NonNullable<Source['configMap']>>({ name: supported, items: KEYS, optional: supported }),
    secret: fields<NonNullable<Source['secret']>>({ name: supported, items: KEYS, optional: supported }),
    downwardAPI: fields<NonNullable<Source['downwardAPI']>>({ items: DOWNWARD_ITEMS }),
    clusterTrustBundle: fields<TrustBundle>({
      name: supported,
      signerName: supported,
      labelSelector: supported,
      optional: supported,
      path: supported,
    }),
  },
  otherSource,
);

const FILES = has('files', 'put files into containers');
const HOST_PATH = has('hostPath', 'mount paths of its host');

function has(kind: ProviderTraits['volumes'] extends ReadonlySet<infer Kind> ? Kind : never, what: string): Rule {
  return provided(({ volumes }) => volumes.has(kind), what);
}

/** Which claim and volume stand behind it shows only when they are read: what is neither `local` nor `hostPath` fails to mount. */
const CLAIM = HOST_PATH;

export const VOLUME = fields<Volume>(
  {
    name: supported,
    emptyDir: both(
      fields<NonNullable<Volume['emptyDir']>>({ medium: oneOf(['', 'Memory']), sizeLimit: supported }),
      has('emptyDir', 'make emptyDir volumes'),
    ),
    configMap: both(
      fields<ConfigMapVolume>({ name: supported, items: KEYS, optional: supported, defaultMode: supported }),
      FILES,
    ),
    secret: both(
      fields<SecretVolume>({ secretName: supported, items: KEYS, optional: supported, defaultMode: supported }),
      FILES,
    ),
    downwardAPI: both(fields<Downward>({ items: DOWNWARD_ITEMS, defaultMode: supported }), FILES),
    projected: both(fields<Projected>({ defaultMode: supported, sources: each(SOURCE) }), FILES),
    hostPath: both(fields<NonNullable<Volume['hostPath']>>({ path: supported, type: supported }), HOST_PATH),
    persistentVolumeClaim: both(
      fields<NonNullable<Volume['persistentVolumeClaim']>>({ claimName: supported, readOnly: supported }),
      CLAIM,
    ),
    ephemeral: both(fields<NonNullable<Volume['ephemeral']>>({ volumeClaimTemplate: supported }), CLAIM),
  },
  otherKind,
);

export const VOLUME_MOUNT = fields<Mount>({
  name: supported,
  mountPath: supported,
  readOnly: supported,
  // Judged together with the volume: firstUnsupportedSubPath.
  subPath: supported,
  subPathExpr: supported,
  mountPropagation: unless(
    ['None'],
    both(
      oneOf(['HostToContainer', 'Bidirectional']),
      provided(({ mountPropagation }) => mountPropagation, 'let mounts show on both sides'),
    ),
  ),
  // "If possible" is a wish: where the engine cannot, the status says Disabled.
  recursiveReadOnly: unless(
    ['Disabled', 'IfPossible'],
    provided(({ recursiveReadOnly }) => recursiveReadOnly, 'make mounts inside of mounts read-only'),
  ),
});

/** A part of a volume, where the provider can mount only parts of volumes that the node itself fills, or none. */
export function firstUnsupportedSubPath({ spec }: Pod, { subPaths }: ProviderTraits): Unsupported | undefined {
  if (subPaths === 'all') return undefined;
  const filled = new Set((spec.volumes ?? []).filter(isFilledByNode).map(({ name }) => name));
  for (const list of ['initContainers', 'containers', 'ephemeralContainers'] as const) {
    for (const [i, { volumeMounts = [] }] of (spec[list] ?? []).entries()) {
      for (const [j, { name, subPath = '', subPathExpr = '' }] of volumeMounts.entries()) {
        if ((subPath === '' && subPathExpr === '') || (subPaths === 'files' && filled.has(name))) continue;
        const field = subPath === '' ? 'subPathExpr' : 'subPath';
        const why =
          subPaths === 'none'
            ? 'the provider cannot mount a part of a volume'
            : 'the provider cannot mount a part of a volume that containers write to';
        return { path: `spec.${list}[${i}].volumeMounts[${j}].${field}`, why };
      }
    }
  }
  return undefined;
}

function isFilledByNode({ configMap, secret, downwardAPI, projected }: Volume): boolean {
  return [configMap, secret, downwardAPI, projected].some((source) => source !== undefined);
}

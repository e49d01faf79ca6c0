import type { Pod } from '../model/pod.ts';
import { isMetadataField } from './field-path.ts';
import { both, each, fields, notYet, oneOf, provided, type Rule, supported } from './unsupported-rules.ts';

type Volume = NonNullable<Pod['spec']['volumes']>[number];
type Projected = NonNullable<Volume['projected']>;
type Source = NonNullable<Projected['sources']>[number];
type KeyToPath = NonNullable<NonNullable<Source['configMap']>['items']>[number];
type DownwardItem = NonNullable<NonNullable<Source['downwardAPI']>['items']>[number];

const otherKind: Rule = (_, path) => ({ path, why: 'volumes of this kind are not supported yet' });
const otherSource: Rule = (_, path) => ({ path, why: 'projected sources of this kind are not supported yet' });

const fieldPath: Rule = (value, path) =>
  typeof value === 'string' && isMetadataField(value)
    ? undefined
    : { path, why: `${JSON.stringify(value)} is not supported in a volume` };

const SOURCE = fields<Source>(
  {
    serviceAccountToken: fields<NonNullable<Source['serviceAccountToken']>>({
      audience: supported,
      expirationSeconds: supported,
      path: supported,
    }),
    configMap: fields<NonNullable<Source['configMap']>>({
      name: supported,
      items: each(fields<KeyToPath>({ key: supported, path: supported, mode: supported })),
      optional: supported,
    }),
    downwardAPI: fields<NonNullable<Source['downwardAPI']>>({
      items: each(
        fields<DownwardItem>({
          path: supported,
          mode: supported,
          fieldRef: fields<NonNullable<DownwardItem['fieldRef']>>({ apiVersion: supported, fieldPath }),
          resourceFieldRef: notYet('resource fields are'),
        }),
      ),
    }),
  },
  otherSource,
);

export const VOLUME = fields<Volume>(
  {
    name: supported,
    emptyDir: both(
      fields<NonNullable<Volume['emptyDir']>>({ medium: oneOf(['', 'Memory']), sizeLimit: supported }),
      provided(({ volumes }) => volumes.has('emptyDir'), 'make emptyDir volumes'),
    ),
    projected: both(
      fields<Projected>({ defaultMode: supported, sources: each(SOURCE) }),
      provided(({ volumes }) => volumes.has('files'), 'put files into containers'),
    ),
  },
  otherKind,
);

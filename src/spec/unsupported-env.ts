import type { Container, Pod } from '../model/pod.ts';
import { isEnvField } from './field-path.ts';
import { isResourceField } from './resource-field.ts';
import { each, fields, provided, type Rule, supported, type Unsupported } from './unsupported-rules.ts';

type EnvVar = NonNullable<Container['env']>[number];
type EnvSource = NonNullable<EnvVar['valueFrom']>;
type EnvFrom = NonNullable<Container['envFrom']>[number];

const POD_ADDRESS = /^status\.podIPs?$/;

const envField: Rule = (value, path, traits) => {
  if (typeof value !== 'string' || !isEnvField(value)) {
    return { path, why: `${JSON.stringify(value)} is not supported in env` };
  }
  const early = provided(({ network }) => network.podIpKnownBeforeStart, 'tell the address of a pod before it runs');
  return POD_ADDRESS.test(value) ? early(value, path, traits) : undefined;
};

const resource: Rule = (value, path) =>
  typeof value === 'string' && isResourceField(value)
    ? undefined
    : { path, why: `${JSON.stringify(value)} is not supported in env` };

const KEY_OF_OBJECT = fields<NonNullable<EnvSource['configMapKeyRef'] & EnvSource['secretKeyRef']>>({
  name: supported,
  key: supported,
  optional: supported,
});
const OBJECT = fields<NonNullable<EnvFrom['configMapRef'] & EnvFrom['secretRef']>>({
  name: supported,
  optional: supported,
});

export const ENV = each(
  fields<EnvVar>({
    name: supported,
    value: supported,
    valueFrom: fields<EnvSource>(
      {
        fieldRef: fields<NonNullable<EnvSource['fieldRef']>>({ apiVersion: supported, fieldPath: envField }),
        resourceFieldRef: fields<NonNullable<EnvSource['resourceFieldRef']>>({
          containerName: supported,
          resource,
          divisor: supported,
        }),
        configMapKeyRef: KEY_OF_OBJECT,
        secretKeyRef: KEY_OF_OBJECT,
        // Whether the backend can read files is asked apart: that is no trait.
        fileKeyRef: fields<NonNullable<EnvSource['fileKeyRef']>>({
          volumeName: supported,
          path: supported,
          key: supported,
          optional: supported,
        }),
      },
      (_, path) => ({ path, why: 'env from this source is not supported yet' }),
    ),
  }),
);

export const ENV_FROM = each(fields<EnvFrom>({ prefix: supported, configMapRef: OBJECT, secretRef: OBJECT }));

/** The first variable that comes from a file, where the provider has no way to read one (contract: readVolumeFile). */
export function firstUnreadableEnvFile({ spec }: Pod, canRead: boolean): Unsupported | undefined {
  if (canRead) return undefined;
  for (const list of ['containers', 'initContainers', 'ephemeralContainers'] as const) {
    for (const [i, { env = [] }] of (spec[list] ?? []).entries()) {
      const found = env.findIndex(({ valueFrom }) => valueFrom?.fileKeyRef !== undefined);
      if (found === -1) continue;
      const path = `spec.${list}[${i}].env[${found}].valueFrom.fileKeyRef`;
      return { path, why: 'the provider cannot read files of a volume' };
    }
  }
  return undefined;
}

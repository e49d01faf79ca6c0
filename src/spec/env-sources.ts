import type { ConfigMap, Container, Pod, Secret } from '../model/pod.ts';
import { goQuote } from '../util/go-quote.ts';
import { ContainerConfigError } from './config-error.ts';
import { readEnvFile } from './env-file.ts';
import { isEnvField, metadataField } from './field-path.ts';
import {
  type Allocatable,
  defaultLimits,
  type ResourceFieldSelector,
  resourceField,
  selectedContainer,
} from './resource-field.ts';

/** Something a variable refers to, read before the environment is composed. */
export type EnvReference =
  | { readonly kind: 'ConfigMap' | 'Secret'; readonly name: string }
  | { readonly kind: 'File'; readonly volume: string; readonly path: string };

/** What was found for each reference. Throws what reading it has thrown; undefined: it is not there. */
export interface EnvObjects {
  configMap(name: string): ConfigMap | undefined;
  secret(name: string): Secret | undefined;
  file(volume: string, path: string): Uint8Array | undefined;
}

export const NO_ENV_OBJECTS: EnvObjects = {
  configMap: () => undefined,
  secret: () => undefined,
  file: () => undefined,
};

type EnvVar = NonNullable<Container['env']>[number];
type EnvSource = NonNullable<EnvVar['valueFrom']>;
type EnvFrom = NonNullable<Container['envFrom']>[number];

export interface EnvValue {
  readonly value: string;
  readonly sensitive: boolean;
}

export interface EnvSurroundings {
  readonly pod: Pod;
  readonly container: Container;
  /** Addresses of the node, primary family first. */
  readonly hostIPs: readonly string[];
  /** What the sandbox reported. */
  readonly podIPs: readonly string[];
  /** Of the node; undefined until it has been described. */
  readonly allocatable: Allocatable | undefined;
  readonly objects: EnvObjects;
}

/** Everything that has to be read for this container, each thing once. */
export function envReferences({ env = [], envFrom = [] }: Container): readonly EnvReference[] {
  const found = new Map<string, EnvReference>();
  const add = (reference: EnvReference): void => void found.set(JSON.stringify(reference), reference);
  for (const { configMapRef, secretRef } of envFrom) {
    if (configMapRef !== undefined) add({ kind: 'ConfigMap', name: configMapRef.name ?? '' });
    else if (secretRef !== undefined) add({ kind: 'Secret', name: secretRef.name ?? '' });
  }
  for (const { configMapKeyRef, secretKeyRef, fileKeyRef } of env.flatMap(({ valueFrom }) => valueFrom ?? [])) {
    if (configMapKeyRef !== undefined) add({ kind: 'ConfigMap', name: configMapKeyRef.name ?? '' });
    if (secretKeyRef !== undefined) add({ kind: 'Secret', name: secretKeyRef.name ?? '' });
    if (fileKeyRef !== undefined) add({ kind: 'File', volume: fileKeyRef.volumeName, path: fileKeyRef.path });
  }
  return [...found.values()];
}

/** All variables of one `envFrom` entry; whatever a key looks like, it is a name (reference 10.3). */
export function envFromValues(
  { prefix = '', configMapRef, secretRef }: EnvFrom,
  objects: EnvObjects,
): ReadonlyMap<string, EnvValue> {
  const values = new Map<string, EnvValue>();
  if (configMapRef !== undefined) {
    const object = configMap(configMapRef, objects);
    for (const [key, value] of Object.entries(object?.data ?? {}))
      values.set(prefix + key, { value, sensitive: false });
  } else if (secretRef !== undefined) {
    const object = secret(secretRef, objects);
    for (const [key, data] of Object.entries(object?.data ?? {})) values.set(prefix + key, secretValue(data));
  }
  return values;
}

/** Undefined: the entry is optional and its source is not there; a value of the same name from elsewhere stays. */
export function sourceValue(source: EnvSource, around: EnvSurroundings): EnvValue | undefined {
  const { pod, objects } = around;
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  if (fieldRef !== undefined) return plain(envField(fieldRef.fieldPath, around));
  if (resourceFieldRef !== undefined) return plain(resourceValue(resourceFieldRef, around));
  if (configMapKeyRef !== undefined) {
    const { key, optional } = configMapKeyRef;
    const object = configMap(configMapKeyRef, objects);
    if (object === undefined) return undefined;
    const value = own(object.data, key);
    if (value !== undefined) return plain(value);
    return missingKey(
      optional,
      `couldn't find key ${key} in ConfigMap ${pod.metadata.namespace}/${configMapKeyRef.name}`,
    );
  }
  if (secretKeyRef !== undefined) {
    const { key, optional } = secretKeyRef;
    const object = secret(secretKeyRef, objects);
    if (object === undefined) return undefined;
    const data = own(object.data, key);
    if (data !== undefined) return secretValue(data);
    return missingKey(optional, `couldn't find key ${key} in Secret ${pod.metadata.namespace}/${secretKeyRef.name}`);
  }
  if (fileKeyRef !== undefined) return fileValue(fileKeyRef, around);
  // Admission refuses other kinds (unsupported.ts); one that gets here anyway must not start without its value.
  throw new ContainerConfigError(`env source is not supported yet: ${Object.keys(source).join(', ')}`);
}

function resourceValue(field: ResourceFieldSelector, { pod, container, allocatable }: EnvSurroundings): string {
  if (allocatable === undefined) throw new ContainerConfigError('failed to find node object, expected a node');
  const { containerName = '' } = field;
  const chosen = containerName === '' ? container : selectedContainer(pod, containerName);
  // The kubelet gives defaults to the container that asks and to main ones, not to an init container that another one names.
  const hasDefaults = containerName === '' || pod.spec.containers.includes(chosen);
  return resourceField(field, chosen, hasDefaults ? defaultLimits(pod, allocatable) : undefined);
}

interface ObjectRef {
  readonly name?: string;
  readonly optional?: boolean;
}

function configMap({ name = '', optional }: ObjectRef, objects: EnvObjects): ConfigMap | undefined {
  const object = objects.configMap(name);
  if (object === undefined && optional !== true) throw new ContainerConfigError(`configmap ${goQuote(name)} not found`);
  return object;
}

function secret({ name = '', optional }: ObjectRef, objects: EnvObjects): Secret | undefined {
  const object = objects.secret(name);
  if (object === undefined && optional !== true) throw new ContainerConfigError(`secret ${goQuote(name)} not found`);
  return object;
}

function fileValue(
  { volumeName, path, key, optional }: NonNullable<EnvSource['fileKeyRef']>,
  { pod, objects }: EnvSurroundings,
): EnvValue | undefined {
  if (!pod.spec.volumes?.some(({ name }) => name === volumeName)) {
    throw new ContainerConfigError(`cannot find the volume ${goQuote(volumeName)} referenced by FileKeyRef`);
  }
  const content = objects.file(volumeName, path);
  const value = content === undefined ? undefined : parsed(content, key);
  // A file that is not there is as bad as a broken one, also where the key is optional.
  if (value === undefined) throw new ContainerConfigError("couldn't parse env file");
  if (value !== '') return plain(value);
  // The kubelet names the file as it sees it.
  const directory = `/var/lib/kubelet/pods/${pod.metadata.uid}/volumes/kubernetes.io~empty-dir/${volumeName}`;
  return missingKey(
    optional,
    `environment variable key ${goQuote(key)} not found in file ${goQuote(`${directory}/${path}`)}`,
  );
}

function parsed(content: Uint8Array, key: string): string | undefined {
  try {
    return readEnvFile(Buffer.from(content).toString('utf8'), key);
  } catch {
    return undefined; // which line is wrong stands in no message of the kubelet either
  }
}

function missingKey(optional: boolean | undefined, message: string): undefined {
  if (optional !== true) throw new ContainerConfigError(message);
}

function plain(value: string): EnvValue {
  return { value, sensitive: false };
}

function secretValue(data: string): EnvValue {
  return { value: Buffer.from(data, 'base64').toString('utf8'), sensitive: true };
}

function own(data: Readonly<Record<string, string>> | undefined, key: string): string | undefined {
  return data !== undefined && Object.hasOwn(data, key) ? data[key] : undefined;
}

function envField(path: string, { pod, hostIPs, podIPs }: EnvSurroundings): string {
  if (!isEnvField(path)) throw new ContainerConfigError(`field label not supported: ${path}`);
  switch (path) {
    case 'spec.nodeName':
    case 'spec.host':
      return pod.spec.nodeName ?? '';
    case 'spec.serviceAccountName':
      return pod.spec.serviceAccountName ?? '';
    case 'status.hostIP':
      return hostIPs[0] ?? '';
    case 'status.hostIPs':
      return hostIPs.join(',');
    case 'status.podIP':
      return primaryFirst(podIPs, hostIPs)[0] ?? '';
    case 'status.podIPs':
      return primaryFirst(podIPs, hostIPs).join(',');
  }
  return metadataField(pod, path) ?? '';
}

/** Pod addresses in the order of the node's: its primary family first, one per family. */
export function primaryFirst(podIPs: readonly string[], hostIPs: readonly string[]): readonly string[] {
  const v4 = podIPs.find((ip) => !ip.includes(':'));
  const v6 = podIPs.find((ip) => ip.includes(':'));
  const ordered = hostIPs[0]?.includes(':') === true ? [v6, v4] : [v4, v6];
  return ordered.filter((ip) => ip !== undefined);
}

import type { Container } from '../model/pod.ts';
import { isEnvField } from './field-path.ts';
import { PROBE } from './unsupported-probe.ts';
import {
  both,
  each,
  fields,
  keys,
  notYet,
  oneOf,
  provided,
  type Rule,
  supported,
  unless,
} from './unsupported-rules.ts';
import { CONTAINER_SECURITY } from './unsupported-security.ts';

type Env = NonNullable<Container['env']>[number];
type EnvSource = NonNullable<Env['valueFrom']>;
type Port = NonNullable<Container['ports']>[number];
type Mount = NonNullable<Container['volumeMounts']>[number];
type Resources = NonNullable<Container['resources']>;

const POD_ADDRESS = /^status\.podIPs?$/;

const envField: Rule = (value, path, traits) => {
  if (typeof value !== 'string' || !isEnvField(value)) {
    return { path, why: `${JSON.stringify(value)} is not supported in env` };
  }
  const early = provided(({ network }) => network.podIpKnownBeforeStart, 'tell the address of a pod before it runs');
  return POD_ADDRESS.test(value) ? early(value, path, traits) : undefined;
};

const otherEnvSource: Rule = (_, path) => ({ path, why: 'env from this source is not supported yet' });

const RESOURCE_NAMES = keys(
  new Set(['cpu', 'memory', 'ephemeral-storage']),
  'only cpu, memory and ephemeral-storage are supported yet',
);

const CONTAINER = fields<Container>({
  name: supported,
  image: supported,
  imagePullPolicy: supported,
  command: supported,
  args: supported,
  workingDir: supported,
  env: each(
    fields<Env>({
      name: supported,
      value: supported,
      valueFrom: fields<EnvSource>(
        { fieldRef: fields<NonNullable<EnvSource['fieldRef']>>({ apiVersion: supported, fieldPath: envField }) },
        otherEnvSource,
      ),
    }),
  ),
  envFrom: notYet('envFrom is'),
  ports: each(
    fields<Port>({
      name: supported,
      containerPort: supported,
      protocol: supported,
      hostPort: unless(
        [0],
        provided(({ network }) => network.hostPorts, 'open ports on its host'),
      ),
      hostIP: supported,
    }),
  ),
  resources: fields<Resources>({
    limits: RESOURCE_NAMES,
    requests: RESOURCE_NAMES,
    claims: notYet('resource claims are'),
  }),
  // Says what to do on a resize, and without one nothing.
  resizePolicy: supported,
  restartPolicy: notYet('a restart policy of a container is'),
  restartPolicyRules: notYet('restart rules are'),
  volumeMounts: each(
    fields<Mount>({
      name: supported,
      mountPath: supported,
      readOnly: supported,
      subPath: notYet('subPath is'),
      subPathExpr: notYet('subPathExpr is'),
      mountPropagation: oneOf(['None']),
      recursiveReadOnly: oneOf(['Disabled']),
    }),
  ),
  volumeDevices: notYet('block devices are'),
  livenessProbe: PROBE,
  readinessProbe: PROBE,
  startupProbe: PROBE,
  lifecycle: notYet('lifecycle hooks are'),
  // Defaults of the API server; without messages they have no effect yet.
  terminationMessagePath: oneOf(['/dev/termination-log']),
  terminationMessagePolicy: oneOf(['File']),
  securityContext: CONTAINER_SECURITY,
  stdin: supported,
  stdinOnce: supported,
  tty: supported,
});

/** Containers of one pod that cannot reach each other on localhost are not a pod. */
export const CONTAINERS = both(each(CONTAINER), (value, path, traits) =>
  Array.isArray(value) && value.length > 1
    ? provided(({ network }) => network.sharedNamespace, 'give several containers one network')(value, path, traits)
    : undefined,
);

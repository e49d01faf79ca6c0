import type { Container } from '../model/pod.ts';
import { ENV, ENV_FROM } from './unsupported-env.ts';
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
import { VOLUME_MOUNT } from './unsupported-volume.ts';

type Port = NonNullable<Container['ports']>[number];
type Resources = NonNullable<Container['resources']>;

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
  env: ENV,
  envFrom: ENV_FROM,
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
  volumeMounts: each(VOLUME_MOUNT),
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

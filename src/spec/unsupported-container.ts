import type { Container } from '../model/pod.ts';
import { isRecord } from '../util/is-record.ts';
import { ENV, ENV_FROM } from './unsupported-env.ts';
import { PROBE } from './unsupported-probe.ts';
import { both, each, fields, keys, notYet, oneOf, provided, supported, unless } from './unsupported-rules.ts';
import { CONTAINER_SECURITY } from './unsupported-security.ts';
import { VOLUME_MOUNT } from './unsupported-volume.ts';

type Port = NonNullable<Container['ports']>[number];
type Resources = NonNullable<Container['resources']>;

const RESOURCE_NAMES = keys(
  new Set(['cpu', 'memory', 'ephemeral-storage']),
  'only cpu, memory and ephemeral-storage are supported yet',
);

type Lifecycle = NonNullable<Container['lifecycle']>;
type Handler = NonNullable<Lifecycle['postStart']>;
type HttpGet = NonNullable<Handler['httpGet']>;
type RestartRule = NonNullable<Container['restartPolicyRules']>[number];

/** What src/probes/hook-runner.ts knows; `tcpSocket` is accepted by the API and always fails, here too (reference 2.11). */
const HOOK = fields<Handler>({
  exec: fields<NonNullable<Handler['exec']>>({ command: supported }),
  httpGet: fields<HttpGet>({
    path: supported,
    port: supported,
    host: supported,
    scheme: oneOf(['HTTP', 'HTTPS']),
    httpHeaders: each(fields<NonNullable<HttpGet['httpHeaders']>[number]>({ name: supported, value: supported })),
  }),
  sleep: fields<NonNullable<Handler['sleep']>>({ seconds: supported }),
  tcpSocket: supported,
});

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
  restartPolicy: supported,
  restartPolicyRules: each(fields<RestartRule>({ action: oneOf(['Restart']), exitCodes: supported })),
  volumeMounts: each(VOLUME_MOUNT),
  volumeDevices: notYet('block devices are'),
  livenessProbe: PROBE,
  readinessProbe: PROBE,
  startupProbe: PROBE,
  lifecycle: fields<Lifecycle>({ postStart: HOOK, preStop: HOOK, stopSignal: notYet('a stop signal of a pod is') }),
  // Whether the backend can read them is asked apart (unsupported-message.ts): that is no trait.
  terminationMessagePath: supported,
  terminationMessagePolicy: oneOf(['File', 'FallbackToLogsOnError']),
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

/** Plain ones and sidecars, each as far as the backend can sequence them. */
export const INIT_CONTAINERS = both(each(CONTAINER), (value, path, traits) => {
  if (!Array.isArray(value)) return undefined;
  for (const [index, container] of value.entries()) {
    const rule = isSidecarLike(container)
      ? provided(({ sidecars }) => sidecars, 'run sidecars')
      : provided(({ initContainers }) => initContainers, 'run init containers');
    const found = rule(container, `${path}[${index}]`, traits);
    if (found !== undefined) return found;
  }
  return undefined;
});

/** `targetContainerName` needs a PID namespace that is joined. */
export const EPHEMERAL_CONTAINERS = both(
  each(
    both(
      (value, path, traits) => CONTAINER(withoutTarget(value), path, traits),
      (value, path, traits) =>
        hasTarget(value)
          ? provided(({ ephemeralTarget }) => ephemeralTarget, 'let containers join the processes of others')(
              value,
              `${path}.targetContainerName`,
              traits,
            )
          : undefined,
    ),
  ),
  provided(({ ephemeralContainers }) => ephemeralContainers, 'add containers to a pod that runs'),
);

function isSidecarLike(value: unknown): boolean {
  return isRecord(value) && value['restartPolicy'] === 'Always';
}

function hasTarget(value: unknown): boolean {
  return isRecord(value) && value['targetContainerName'] !== undefined && value['targetContainerName'] !== '';
}

function withoutTarget(value: unknown): unknown {
  if (!isRecord(value)) return value;
  const { targetContainerName: _, ...rest } = value;
  return rest;
}

import type {
  AttachFacet,
  ContainerRef,
  DialFacet,
  ExecFacet,
  ObservedPod,
} from '../../../providers/contract/index.ts';
import { findContainer } from '../../model/containers.ts';
import { type Pod, podUid } from '../../model/pod.ts';
import type { ObservedStore } from '../../model/stores.ts';
import { type Refusal, refuse } from './answers.ts';
import { parsePorts, parseStreamOptions, type StreamOptions } from './options.ts';
import type { ForwardTarget } from './portforward.ts';

/** What of the node the streams need to know. */
export interface StreamTargets {
  findPod(namespace: string, name: string): Pod | undefined;
  readonly observed: Pick<ObservedStore, 'get'>;
  /** Absent: the backend cannot. */
  readonly exec?: ExecFacet;
  readonly attach?: AttachFacet;
  readonly dial?: DialFacet;
}

export type Subresource = 'exec' | 'attach' | 'portForward';

export interface StreamRoute {
  readonly type: 'route';
  readonly subresource: Subresource;
  readonly namespace: string;
  readonly pod: string;
  readonly uid?: string;
  /** Empty for port-forward. */
  readonly container: string;
}

/** Undefined: the path is none of streams. */
export function streamRoute(url = ''): StreamRoute | Refusal | undefined {
  const [encoded = ''] = url.split('?', 1);
  let path = encoded;
  try {
    path = decodeURIComponent(encoded);
  } catch {
    return PREFIX.test(encoded) ? refuse(400, 'Bad Request') : undefined;
  }
  const subresource = PREFIX.exec(path)?.[1];
  if (subresource !== 'exec' && subresource !== 'attach' && subresource !== 'portForward') return undefined;
  const names = path.split('/').slice(2);
  const [namespace, pod, third, fourth] = names;
  const [least, most] = subresource === 'portForward' ? [2, 3] : [3, 4];
  if (names.includes('') || names.length < least || names.length > most) return NO_SUCH_ROUTE;
  if (namespace === undefined || pod === undefined) return NO_SUCH_ROUTE;
  const route = { type: 'route', subresource, namespace, pod } as const;
  if (subresource === 'portForward') return { ...route, container: '', ...(third !== undefined && { uid: third }) };
  if (third === undefined) return NO_SUCH_ROUTE;
  return fourth === undefined ? { ...route, container: third } : { ...route, uid: third, container: fourth };
}

const PREFIX = /^\/(exec|attach|portForward)(?:\/|$)/;
const NO_SUCH_ROUTE = refuse(404, '404: Page Not Found');

export type StreamPlan =
  | { readonly type: 'exec'; readonly ref: ContainerRef; readonly streams: StreamOptions; readonly facet: ExecFacet }
  | {
      readonly type: 'attach';
      readonly ref: ContainerRef;
      readonly streams: StreamOptions;
      readonly facet: AttachFacet;
    }
  /** `ports` only where the request has to name them. */
  | { readonly type: 'portForward'; readonly target: ForwardTarget; readonly ports: readonly number[] };

/** In the kubelet's order: options, pod, container (streaming reference, section 10). */
export function planStream(
  targets: StreamTargets,
  route: StreamRoute,
  query: URLSearchParams,
  { needsPorts }: { readonly needsPorts: boolean },
): StreamPlan | Refusal {
  if (route.subresource === 'portForward') return planForward(targets, route, needsPorts ? query : undefined);
  const streams = parseStreamOptions(query);
  if (streams.type === 'refused') return streams;
  const found = findPod(targets, route);
  if (found.type === 'refused') return found;
  return route.subresource === 'exec'
    ? planExec(targets, route, streams, found)
    : planAttach(targets, route, streams, found);
}

interface FoundPod {
  readonly type: 'found';
  readonly pod: Pod;
  readonly observed: ObservedPod | undefined;
}

export function findPod(targets: StreamTargets, route: Pick<StreamRoute, 'namespace' | 'pod'>): FoundPod | Refusal {
  const pod = targets.findPod(route.namespace, route.pod);
  if (pod === undefined) return refuse(404, 'pod does not exist');
  return { type: 'found', pod, observed: targets.observed.get(podUid(pod))?.pod };
}

/** The running incarnation, by what the backend has shown last. */
export function runningContainer(
  { pod, observed }: Pick<FoundPod, 'pod' | 'observed'>,
  name: string,
): ContainerRef | undefined {
  const running = observed?.containers.filter(
    (container) => container.name === name && container.state.status === 'running',
  );
  const attempt = running?.reduce((latest, container) => Math.max(latest, container.attempt), -1) ?? -1;
  return attempt < 0 ? undefined : { podUid: podUid(pod), container: name, attempt };
}

function planExec(targets: StreamTargets, route: StreamRoute, streams: StreamOptions, found: FoundPod) {
  if (targets.exec === undefined) return refuse(501, 'the backend of this node runs no commands in containers');
  const ref = runningContainer(found, route.container);
  if (ref === undefined) return refuse(500, `container not found ("${route.container}")`);
  return { type: 'exec', ref, streams, facet: targets.exec } as const;
}

function planAttach(targets: StreamTargets, route: StreamRoute, streams: StreamOptions, found: FoundPod) {
  if (targets.attach === undefined) return refuse(501, 'the backend of this node cannot attach to containers');
  const fullName = `${route.pod}_${route.namespace}`;
  const ref = runningContainer(found, route.container);
  const spec = findContainer(found.pod, route.container)?.container;
  if (ref === undefined || spec === undefined) {
    return refuse(500, `container ${route.container} not found in pod ${fullName}`);
  }
  if (route.uid !== undefined && route.uid !== found.pod.metadata.uid) return refuse(500, `pod ${fullName} not found`);
  // Whether there is a terminal was decided when the container was made.
  const tty = spec.tty ?? false;
  if (tty && streams.stderr) {
    return refuse(500, 'rpc error: code = InvalidArgument desc = tty and stderr cannot both be true');
  }
  return { type: 'attach', ref, streams: { ...streams, tty }, facet: targets.attach } as const;
}

function planForward(
  targets: StreamTargets,
  route: StreamRoute,
  query: URLSearchParams | undefined,
): StreamPlan | Refusal {
  const parsed = query === undefined ? undefined : parsePorts(query);
  if (parsed?.type === 'refused') return parsed;
  const found = findPod(targets, route);
  if (found.type === 'refused') return found;
  const uid = podUid(found.pod);
  if (route.uid !== undefined && route.uid !== uid) return refuse(404, 'pod not found');
  if (targets.dial === undefined) return refuse(501, 'the backend of this node reaches no ports of pods');
  if (found.observed === undefined || found.observed.state === 'stopped') {
    return refuse(500, `pod not found ("${route.pod}_${route.namespace}")`);
  }
  return { type: 'portForward', target: { pod: route.pod, uid, dial: targets.dial }, ports: parsed?.ports ?? [] };
}

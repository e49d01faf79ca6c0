import type { Container, Pod } from '../model/pod.ts';
import { each, fields, oneOf, type Rule, supported, type Unsupported } from './unsupported-rules.ts';

type Probe = NonNullable<Container['livenessProbe']>;
type HttpGet = NonNullable<Probe['httpGet']>;
type HttpHeader = NonNullable<HttpGet['httpHeaders']>[number];

/** What src/probes knows how to ask. */
export const PROBE: Rule = fields<Probe>({
  exec: fields<NonNullable<Probe['exec']>>({ command: supported }),
  httpGet: fields<HttpGet>({
    path: supported,
    port: supported,
    host: supported,
    scheme: oneOf(['HTTP', 'HTTPS']),
    httpHeaders: each(fields<HttpHeader>({ name: supported, value: supported })),
  }),
  tcpSocket: fields<NonNullable<Probe['tcpSocket']>>({ port: supported, host: supported }),
  grpc: fields<NonNullable<Probe['grpc']>>({ port: supported, service: supported }),
  initialDelaySeconds: supported,
  timeoutSeconds: supported,
  periodSeconds: supported,
  successThreshold: supported,
  failureThreshold: supported,
  terminationGracePeriodSeconds: supported,
});

/** Facets of a provider that probes go through; their absence is no trait (contract: ProviderBase). */
export interface ProbeFacets {
  readonly exec: boolean;
  readonly dial: boolean;
}

const HOOKS = ['postStart', 'preStop'] as const;
const PROBES = ['startupProbe', 'readinessProbe', 'livenessProbe'] as const;

/** The first probe or hook of a pod that this provider has no way to run. */
export function firstUnaskableProbe({ spec }: Pod, facets: ProbeFacets): Unsupported | undefined {
  for (const list of ['containers', 'initContainers'] as const) {
    for (const [i, container] of (spec[list] ?? []).entries()) {
      for (const name of PROBES) {
        const why = unaskable(container[name], facets);
        if (why !== undefined) return { path: `spec.${list}[${i}].${name}`, why };
      }
      for (const name of HOOKS) {
        const why = unrunnable(container.lifecycle?.[name], facets);
        if (why !== undefined) return { path: `spec.${list}[${i}].lifecycle.${name}`, why };
      }
    }
  }
  return undefined;
}

function unaskable(probe: Probe | undefined, { exec, dial }: ProbeFacets): string | undefined {
  if (probe === undefined) return undefined;
  if (probe.exec !== undefined) return exec ? undefined : 'the provider cannot run commands in containers';
  return dial ? undefined : 'the provider cannot connect to pods';
}

type Handler = NonNullable<NonNullable<Container['lifecycle']>['postStart']>;

function unrunnable(handler: Handler | undefined, { exec, dial }: ProbeFacets): string | undefined {
  if (handler?.exec !== undefined) return exec ? undefined : 'the provider cannot run commands in containers';
  if (handler?.httpGet !== undefined) return dial ? undefined : 'the provider cannot connect to pods';
  return undefined;
}

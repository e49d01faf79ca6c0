import type { Container, Pod } from '../model/pod.ts';
import type { Unsupported } from './unsupported-rules.ts';

/** Facets of a provider that termination messages are read through; their absence is no trait (contract: ProviderBase). */
export interface MessageFacets {
  readonly files: boolean;
  readonly logs: boolean;
}

/** The API server writes it into every container: what everybody gets unasked is no reason to refuse a pod. */
const DEFAULT_PATH = '/dev/termination-log';

/** The first wish about termination messages that this provider has no way to fulfil. */
export function firstUnreadableMessage({ spec }: Pod, facets: MessageFacets): Unsupported | undefined {
  for (const list of ['containers', 'initContainers', 'ephemeralContainers'] as const) {
    for (const [i, container] of (spec[list] ?? []).entries()) {
      const found = unreadable(container, facets);
      if (found !== undefined) return { path: `spec.${list}[${i}].${found.path}`, why: found.why };
    }
  }
  return undefined;
}

type Wishes = Pick<Container, 'terminationMessagePath' | 'terminationMessagePolicy'>;

function unreadable(
  { terminationMessagePath: path = DEFAULT_PATH, terminationMessagePolicy: policy }: Wishes,
  { files, logs }: MessageFacets,
): Unsupported | undefined {
  if (path !== DEFAULT_PATH && path !== '' && !files)
    return { path: 'terminationMessagePath', why: 'the provider cannot read files of containers' };
  if (policy === 'FallbackToLogsOnError' && !logs)
    return { path: 'terminationMessagePolicy', why: 'the provider has no logs' };
  return undefined;
}

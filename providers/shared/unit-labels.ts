import type { Labels, PodIdentity, PodUid } from '../contract/index.ts';

/**
 * The label side of the durable format (providers/docker/readme.md): what a provider adds to the labels that the core hands
 * it, so that a restarted process knows every unit again.
 */
export const LABEL = {
  podName: 'io.kubernetes.pod.name',
  podNamespace: 'io.kubernetes.pod.namespace',
  podUid: 'io.kubernetes.pod.uid',
  containerName: 'io.kubernetes.container.name',
  attempt: 'io.kubernetes.container.restartCount',
  kind: 'outrigger/kind',
  /** Attempt of the sandbox that a container joined. */
  sandboxAttempt: 'outrigger/sandbox-attempt',
  volume: 'outrigger/volume',
  /** JSON list of the keys that the core handed over: an image's own labels appear beside ours on a container. */
  passed: 'outrigger/labels',
} as const;

export type Unit =
  | { readonly kind: 'sandbox'; readonly pod: PodIdentity; readonly attempt: number }
  | {
      readonly kind: 'container';
      readonly pod: PodIdentity;
      readonly attempt: number;
      readonly container: string;
      readonly sandboxAttempt: number;
    }
  | { readonly kind: 'volume'; readonly pod: PodIdentity; readonly volume: string };

/** `owner` wins over `passed`, and what names the unit wins over both. */
export function encodeUnit(unit: Unit, passed: Labels, owner: Labels): Record<string, string> {
  const given = { ...passed, ...owner };
  return {
    ...given,
    [LABEL.passed]: JSON.stringify(Object.keys(given).sort()),
    [LABEL.kind]: unit.kind,
    [LABEL.podName]: unit.pod.name,
    [LABEL.podNamespace]: unit.pod.namespace,
    [LABEL.podUid]: unit.pod.uid,
    ...ownLabels(unit),
  };
}

function ownLabels(unit: Unit): Record<string, string> {
  switch (unit.kind) {
    case 'sandbox':
      return { [LABEL.containerName]: 'POD', [LABEL.attempt]: String(unit.attempt) };
    case 'container':
      return {
        [LABEL.containerName]: unit.container,
        [LABEL.attempt]: String(unit.attempt),
        [LABEL.sandboxAttempt]: String(unit.sandboxAttempt),
      };
    case 'volume':
      return { [LABEL.volume]: unit.volume };
  }
}

/** undefined for something that carries the owner labels but was not made by a provider. */
export function decodeUnit(labels: Labels): Unit | undefined {
  const uid = labels[LABEL.podUid];
  const namespace = labels[LABEL.podNamespace];
  const name = labels[LABEL.podName];
  if (!uid || namespace === undefined || name === undefined) return undefined;
  // The label is where the uid is kept; branding it here is the parse.
  const pod: PodIdentity = { uid: uid as PodUid, namespace, name };
  const attempt = wholeNumber(labels[LABEL.attempt]);
  switch (labels[LABEL.kind]) {
    case 'sandbox':
      return attempt === undefined ? undefined : { kind: 'sandbox', pod, attempt };
    case 'container': {
      const container = labels[LABEL.containerName];
      const sandboxAttempt = wholeNumber(labels[LABEL.sandboxAttempt]) ?? 0;
      if (!container || attempt === undefined) return undefined;
      return { kind: 'container', pod, attempt, container, sandboxAttempt };
    }
    case 'volume': {
      const volume = labels[LABEL.volume];
      return volume ? { kind: 'volume', pod, volume } : undefined;
    }
    default:
      return undefined;
  }
}

/** The core's labels and the owner labels, exactly as they were handed over. */
export function passedLabels(labels: Labels): Labels {
  const keys = passedKeys(labels[LABEL.passed]);
  if (keys === undefined) return labels;
  return Object.fromEntries(keys.flatMap((key) => (labels[key] === undefined ? [] : [[key, labels[key]]])));
}

function passedKeys(json: string | undefined): readonly string[] | undefined {
  if (json === undefined) return undefined;
  try {
    const parsed: unknown = JSON.parse(json);
    return Array.isArray(parsed) ? parsed.filter((key) => typeof key === 'string') : undefined;
  } catch {
    return undefined; // damaged: more labels than were handed over are better than none
  }
}

function wholeNumber(text: string | undefined): number | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
}

export function hasLabels(labels: Labels | undefined, wanted: Labels): boolean {
  return Object.entries(wanted).every(([key, value]) => labels?.[key] === value);
}

import type { Pod } from '../model/pod.ts';
import { goQuote } from '../util/go-quote.ts';

const SUBSCRIPT = /^(metadata\.(?:labels|annotations))\['(.+)'\]$/s;

/** The metadata fields that a downward volume or an env variable may name (reference 9.4, 10.4); undefined: no such field. */
export function metadataField(pod: Pod, path: string): string | undefined {
  const { name, namespace, uid, labels, annotations } = pod.metadata;
  switch (path) {
    case 'metadata.name':
      return name;
    case 'metadata.namespace':
      return namespace;
    case 'metadata.uid':
      return uid;
    case 'metadata.labels':
      return formatMap(labels ?? {});
    case 'metadata.annotations':
      return formatMap(annotations ?? {});
  }
  const [, map, key] = SUBSCRIPT.exec(path) ?? [];
  if (map === undefined || key === undefined) return undefined;
  // A key that is not there reads as empty, never as an error.
  return (map === 'metadata.labels' ? labels : annotations)?.[key] ?? '';
}

export function isMetadataField(path: string): boolean {
  return METADATA_FIELDS.has(path) || SUBSCRIPT.test(path);
}

/** Whole maps work in volumes only (reference 10.4). */
export function isEnvField(path: string): boolean {
  return ENV_FIELDS.has(path) || SUBSCRIPT.test(path);
}

const SCALARS = ['metadata.name', 'metadata.namespace', 'metadata.uid'];
const METADATA_FIELDS: ReadonlySet<string> = new Set([...SCALARS, 'metadata.labels', 'metadata.annotations']);
const ENV_FIELDS: ReadonlySet<string> = new Set([
  ...SCALARS,
  'spec.nodeName',
  'spec.host',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]);

/** `key="escaped value"` lines, sorted, without a newline at the end (fieldpath.FormatMap). */
function formatMap(map: Readonly<Record<string, string>>): string {
  const keys = Object.keys(map).sort();
  return keys.map((key) => `${key}=${goQuote(map[key] ?? '')}`).join('\n');
}

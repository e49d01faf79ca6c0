import type { Taint } from './config.ts';

/** What is wrong with a text, in words that follow the value ("must …"); undefined: nothing. */
export type Complaint = string | undefined;

const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const EFFECTS: readonly string[] = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** Labels that a node may set on itself in the reserved domains (reference 5.2; NodeRestriction refuses others). */
const OWN_KUBERNETES_LABELS: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  'beta.kubernetes.io/instance-type',
  'node.kubernetes.io/instance-type',
  'node.kubernetes.io/windows-build',
  'failure-domain.beta.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.kubernetes.io/region',
  'failure-domain.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'topology.kubernetes.io/zone',
]);
const OWN_KUBERNETES_DOMAINS = ['kubelet.kubernetes.io', 'node.kubernetes.io'];

/** Also what the name of a node has to be. */
export function checkDomain(name: string): Complaint {
  return name.length <= 253 && DNS_SUBDOMAIN.test(name)
    ? undefined
    : 'must be a DNS subdomain (lower case letters, digits, "-" and ".", at most 253 characters)';
}

function checkLabelKey(key: string): Complaint {
  const parts = key.split('/');
  const name = parts.at(-1) ?? '';
  const domain = parts.length === 2 ? parts[0] : undefined;
  if (parts.length > 2 || !NAME.test(name) || name.length > 63) return 'is not a qualified name';
  if (domain !== undefined && checkDomain(domain) !== undefined) return 'does not start with a DNS domain';
  return undefined;
}

function checkLabelValue(value: string): Complaint {
  return value === '' || (value.length <= 63 && NAME.test(value))
    ? undefined
    : 'must be at most 63 letters, digits, "-", "_" or ".", starting and ending with a letter or digit';
}

/** A label of ours: well formed, and one that the API server lets a node put on itself. */
export function checkNodeLabel(key: string, value: string): Complaint {
  const malformed = checkLabelKey(key);
  if (malformed !== undefined) return `key ${JSON.stringify(key)} ${malformed}`;
  if (!mayNodeSet(key)) {
    return `a node may not set ${JSON.stringify(key)} on itself (allowed in kubernetes.io and k8s.io: ${OWN_KUBERNETES_DOMAINS.join(', ')} and the well-known host, topology and instance labels)`;
  }
  const bad = checkLabelValue(value);
  return bad === undefined ? undefined : `value ${JSON.stringify(value)} of ${JSON.stringify(key)} ${bad}`;
}

function mayNodeSet(key: string): boolean {
  const domain = key.includes('/') ? key.slice(0, key.indexOf('/')) : '';
  if (!isWithin(domain, 'kubernetes.io') && !isWithin(domain, 'k8s.io')) return true;
  return OWN_KUBERNETES_LABELS.has(key) || OWN_KUBERNETES_DOMAINS.some((own) => isWithin(domain, own));
}

function isWithin(domain: string, parent: string): boolean {
  return domain === parent || domain.endsWith(`.${parent}`);
}

/** The three parts of a taint, already apart. */
export function checkTaint({ key, value = '', effect }: { key: string; value?: string; effect: string }): Complaint {
  const badKey = checkLabelKey(key);
  if (badKey !== undefined) return `key ${JSON.stringify(key)} ${badKey}`;
  const badValue = checkLabelValue(value);
  if (badValue !== undefined) return `value ${JSON.stringify(value)} ${badValue}`;
  return isEffect(effect) ? undefined : `effect ${JSON.stringify(effect)} must be one of ${EFFECTS.join(', ')}`;
}

export function isEffect(text: string): text is Taint['effect'] {
  return EFFECTS.includes(text);
}

/** `key=value:Effect` or `key:Effect`, as in --register-with-taints; undefined when it does not have that form. */
export function splitTaint(text: string): { key: string; value?: string; effect: string } | undefined {
  const [, key, value, effect] = /^([^=:]+)(?:=([^:]*))?:([^:]+)$/.exec(text) ?? [];
  if (key === undefined || effect === undefined) return undefined;
  return { key, effect, ...(value === undefined ? {} : { value }) };
}

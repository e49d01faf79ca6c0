import type { Pod } from '../model/pod.ts';

type ProjectedSource = NonNullable<
  NonNullable<NonNullable<Pod['spec']['volumes']>[number]['projected']>['sources']
>[number];
export type TrustBundleSource = NonNullable<ProjectedSource['clusterTrustBundle']>;

/** PEM texts of ClusterTrustBundles, as the API server has them. */
export interface TrustBundles {
  /** Undefined: there is none of this name. */
  byName(name: string): Promise<string | undefined>;
  bySigner(signerName: string, labelSelector: string): Promise<readonly string[]>;
}

const PEM = /-----BEGIN CERTIFICATE-----([\s\S]*?)-----END CERTIFICATE-----/g;

/** Certificates of the bundles that a source names, each once, as one PEM text (clustertrustbundle_manager.go, reference 9.5). */
export async function trustAnchors(source: TrustBundleSource, bundles: TrustBundles): Promise<string> {
  const { name, signerName, labelSelector, optional = false } = source;
  if (name !== undefined) {
    const found = await bundles.byName(name);
    if (found !== undefined) return normalise([found]);
    if (optional) return '';
    throw new Error(`while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "${name}" not found`);
  }
  if (signerName === undefined)
    throw new Error('ClusterTrustBundle projection requires either name or signerName to be set');
  // No selector selects nothing, an empty one everything (LabelSelectorAsSelector).
  const found = labelSelector === undefined ? [] : await bundles.bySigner(signerName, printSelector(labelSelector));
  if (found.length === 0 && !optional)
    throw new Error('combination of signerName and labelSelector matched zero ClusterTrustBundles');
  return normalise(found);
}

/** The kubelet shuffles them at each start, so that nobody relies on an order; here they are sorted, so that nothing is rewritten. */
function normalise(texts: readonly string[]): string {
  const bodies = texts.flatMap((text) => [...text.matchAll(PEM)].map(([, body = '']) => bare(body)));
  return [...new Set(bodies)].sort().map(printPem).join('');
}

/** Headers inside a block are no part of the certificate. */
function bare(body: string): string {
  const lines = body.trim().split(/\r?\n/);
  return lines
    .filter((line) => !line.includes(':'))
    .join('')
    .replace(/\s/g, '');
}

function printPem(base64: string): string {
  const lines = base64.match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}

type LabelSelector = NonNullable<TrustBundleSource['labelSelector']>;

/** The form of the `labelSelector` query parameter. */
function printSelector({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  const equal = Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`);
  const expressions = matchExpressions.map(({ key, operator, values = [] }) => {
    switch (operator) {
      case 'In':
        return `${key} in (${values.join(',')})`;
      case 'NotIn':
        return `${key} notin (${values.join(',')})`;
      case 'Exists':
        return key;
      case 'DoesNotExist':
        return `!${key}`;
      default:
        throw new Error(
          `while parsing label selector: ${JSON.stringify(operator)} is not a valid label selector operator`,
        );
    }
  });
  return [...equal, ...expressions].join(',');
}

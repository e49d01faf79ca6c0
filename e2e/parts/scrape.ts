import { type ExposedFamily, parseExposition } from '../../src/testing/exposition.ts';
import type { Kube } from './kube.ts';

export interface ScrapeTarget {
  readonly kube: Kube;
  /** Name of the Node. */
  readonly node: string;
}

/** A path of the kubelet API through the API server. */
export function proxied({ kube, node }: ScrapeTarget, path: string): Promise<string> {
  return kube.http.text({ method: 'GET', path: `/api/v1/nodes/${node}/proxy${path}` });
}

/** A page of metrics through the API server; throws if Prometheus could not read it. */
export async function scrape(target: ScrapeTarget, path: string): Promise<readonly ExposedFamily[]> {
  return parseExposition(await proxied(target, path));
}

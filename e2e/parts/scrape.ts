import { type ExposedFamily, parseExposition } from '../../src/testing/exposition.ts';
import type { Kube } from './kube.ts';
import { askKubelet, type KubeletCall } from './kubelet-http.ts';
import type { Outrigger } from './outrigger.ts';

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

/** Those that grow with the pods. */
const STATISTICS = ['/metrics/resource', '/metrics/cadvisor', '/stats/summary'];
const TRIES = 11;

/** How long the pages of statistics take, with a new connection each time. */
export async function scrapeTimes(
  node: Pick<Outrigger, 'port'>,
  certificate: NonNullable<KubeletCall['certificate']>,
): Promise<readonly { path: string; medianMs: number }[]> {
  const found: { path: string; medianMs: number }[] = [];
  for (const path of STATISTICS) {
    const times: number[] = [];
    for (let n = 0; n < TRIES; n++) {
      const start = performance.now();
      const { code } = await askKubelet(node, path, { certificate });
      if (code !== 200) throw new Error(`${path} answers ${code}`);
      times.push(performance.now() - start);
    }
    found.push({ path, medianMs: times.toSorted((a, b) => a - b)[Math.floor(TRIES / 2)] ?? 0 });
  }
  return found;
}

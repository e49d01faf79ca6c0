import type { V1Node, V1Pod } from '@kubernetes/client-node';
import { isTrue, type Stored } from '../parts/kube.ts';

export function nodeTable(nodes: readonly Stored<V1Node>[]): string {
  return table(
    ['NODE', 'STATUS', 'VERSION', 'INTERNAL-IP', 'PODS', 'CONTAINER-RUNTIME'],
    nodes.map(({ metadata, status, spec }) => [
      metadata.name,
      isTrue(status?.conditions, 'Ready') ? 'Ready' : 'NotReady',
      status?.nodeInfo?.kubeletVersion ?? '',
      status?.addresses?.find(({ type }) => type === 'InternalIP')?.address ?? '',
      spec?.podCIDR ?? '',
      status?.nodeInfo?.containerRuntimeVersion ?? '',
    ]),
  );
}

export function podTable(pods: readonly Stored<V1Pod>[]): string {
  return table(
    ['POD', 'READY', 'STATUS', 'RESTARTS', 'IP', 'NODE'],
    pods.map(({ metadata, status, spec }) => {
      const containers = status?.containerStatuses ?? [];
      return [
        metadata.name,
        `${containers.filter(({ ready }) => ready).length}/${spec?.containers.length ?? 0}`,
        status?.phase ?? '',
        String(containers.reduce((total, { restartCount }) => total + restartCount, 0)),
        status?.podIP ?? '',
        spec?.nodeName ?? '',
      ];
    }),
  );
}

/** Asks one of the pods itself, at its own address. */
export async function answerOf(pods: readonly Stored<V1Pod>[]): Promise<{ address: string; text: string }> {
  const pod = pods.find(({ status }) => status?.podIP !== undefined);
  if (pod === undefined) throw new Error('no pod has an address');
  const port = pod.spec?.containers[0]?.ports?.[0]?.containerPort ?? 80;
  const address = `${pod.status?.podIP}:${port}`;
  const response = await fetch(`http://${address}/`, { signal: AbortSignal.timeout(10_000) });
  return { address, text: await response.text() };
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((title, i) => Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)));
  return [header, ...rows]
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('   ')
        .trimEnd(),
    )
    .join('\n');
}

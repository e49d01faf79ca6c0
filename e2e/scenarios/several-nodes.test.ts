import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { kubeletConfig } from '../config.ts';
import { expectCleanNode } from '../matrix.ts';
import { pickClusterCidr } from '../parts/cluster-cidr.ts';
import { cleanNodes, leftOnEngine } from '../parts/docker-cleanup.ts';
import { isTrue } from '../parts/kube.ts';
import { REPOSITORY } from '../parts/paths.ts';
import { freePorts } from '../parts/ports.ts';
import { Service } from '../parts/process.ts';
import { TestBed } from '../parts/test-bed.ts';
import { eventually, isReady, PATIENCE_MS, podDraft, shell, UNTIL_TOLD } from '../scene.ts';

describe('several nodes in one process', () => {
  let bed: TestBed;
  /** `10.213` of a network that nobody on this machine uses. */
  let half: string;
  const processes: { readonly process: Service; readonly nodes: readonly string[] }[] = [];
  beforeAll(async () => {
    bed = await TestBed.open(inject('testBed'));
    do half = pickClusterCidr().split('.').slice(0, 2).join('.');
    while (bed.plane.info.clusterCidr.startsWith(half));
  });
  afterAll(async () => {
    for (const { process, nodes } of processes) {
      await process.stop();
      await cleanNodes(bed.docker, nodes);
      for (const name of nodes) await bed.kube.delete('Node', name);
    }
    await bed.close();
  });

  async function start(name: string, config: string, nodes: readonly { readonly name: string }[]): Promise<Service> {
    for (const node of nodes) bed.run.addNode(node.name, bed.socket);
    const [healthz] = await freePorts(1);
    const process = new Service({
      name,
      command: globalThis.process.execPath,
      args: [
        join(REPOSITORY, 'src/main.ts'),
        `--kubeconfig=${await bed.plane.serviceAccountKubeconfig()}`,
        `--config=${config}`,
        `--client-ca-file=${bed.plane.kubeletClientCaFile}`,
        `--healthz-port=${healthz}`,
        `--cert-dir=${bed.folder(`pki-${name}`)}`,
        '--self-signed-serving-certificate',
      ],
      logFile: join(bed.plane.dir, 'nodes', `${name}.log`),
      pidDir: join(bed.plane.dir, 'nodes/pids'),
      cwd: REPOSITORY,
    });
    processes.push({ process, nodes: nodes.map((node) => node.name) });
    return process;
  }

  const dockerNode = (letter: string, network: string | undefined) => ({
    name: bed.nodeName(`several-${letter}`),
    provider: 'docker',
    ...(network === undefined ? {} : { podCIDR: network }),
  });

  const outriggerConfig = (nodes: readonly object[]) => ({
    apiVersion: 'outrigger.dev/v1alpha1',
    kind: 'OutriggerConfiguration',
    nodes,
  });

  it('each have their own Node, pods and pod network', async () => {
    const nodes = [
      dockerNode('a', `${half}.4.0/24`),
      dockerNode('b', `${half}.5.0/24`),
      { name: bed.nodeName('several-c'), provider: 'fake' },
    ];
    const config = kubeletConfig({ bed }, 'several', {}, outriggerConfig(nodes));
    const process = await start('several', config, nodes);
    for (const { name } of nodes) {
      await bed.kube.waitFor('Node', name, 'Ready', ({ status }) => isTrue(status?.conditions, 'Ready'), {
        timeoutMs: PATIENCE_MS,
      });
    }
    const namespace = await bed.kube.createNamespace();
    for (const { name } of nodes)
      await bed.kube.create(podDraft({ node: name, namespace }, name, shell(`echo here; ${UNTIL_TOLD}`)));
    const [a, b, c] = await Promise.all(
      nodes.map(({ name }) => bed.kube.waitFor('Pod', name, 'Ready', isReady, { namespace, timeoutMs: PATIENCE_MS })),
    );
    expect(a?.status?.podIP).toMatch(new RegExp(`^${half}\\.4\\.\\d+$`));
    expect(b?.status?.podIP).toMatch(new RegExp(`^${half}\\.5\\.\\d+$`));
    expect(c?.status?.podIP).toBeDefined();
    // Each kubelet server has a port and a certificate of its own.
    for (const { name } of nodes)
      expect(await bed.kube.logs(name, { insecureSkipTLSVerifyBackend: 'true' }, namespace)).toBe('here\n');
    await bed.kube.delete('Namespace', namespace);
    for (const { name } of nodes) await expectCleanNode(bed, { nodeName: name });
    await process.stop();
    expect(
      await leftOnEngine(
        bed.docker,
        nodes.map(({ name }) => name),
      ),
    ).toEqual([]);
  });

  it('are refused at start when their pod networks overlap, naming both', async () => {
    const a = dockerNode('a', `${half}.4.0/24`);
    const b = dockerNode('b', `${half}.0.0/16`);
    const config = kubeletConfig({ bed }, 'overlap', {}, outriggerConfig([a, b]));
    const { code, stderr } = await run([
      `--kubeconfig=${bed.plane.kubeconfig}`,
      `--config=${config}`,
      '--self-signed-serving-certificate',
    ]);
    expect(code).toBe(2);
    expect(stderr.trimEnd().split('\n')).toEqual([
      `outrigger: node ${b.name}: podCIDR ${half}.0.0/16 overlaps podCIDR ${half}.4.0/24 of node ${a.name}`,
    ]);
  });

  it('whose pod networks overlap only by what the cluster assigns: the second is NotReady and says with whom', async () => {
    const nodes = [dockerNode('d', undefined), dockerNode('e', undefined)] as const;
    const [d, e] = nodes;
    for (const { name } of nodes) {
      await bed.kube.create({ kind: 'Node', metadata: { name } });
      await bed.kube.waitFor('Node', name, 'given a network', ({ spec }) => spec?.podCIDR !== undefined);
    }
    const first = await bed.kube.get('Node', d.name);
    const taken = first.spec?.podCIDR ?? '';
    const config = kubeletConfig({ bed }, 'assigned', {}, outriggerConfig([d, { ...e, podCIDR: taken }]));
    const process = await start('assigned', config, nodes);
    const node = await bed.kube.waitFor(
      'Node',
      d.name,
      'NotReady for its network',
      ({ status }) =>
        Boolean(status?.conditions?.some(({ type, message }) => type === 'Ready' && message?.includes('overlaps'))),
      { timeoutMs: PATIENCE_MS },
    );
    const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
    expect(ready?.status).toBe('False');
    expect(ready?.message).toContain(`pod network ${taken} overlaps ${taken} of node ${e.name}`);
    await bed.kube.waitFor('Node', e.name, 'Ready', ({ status }) => isTrue(status?.conditions, 'Ready'), {
      timeoutMs: PATIENCE_MS,
    });
    await process.stop();
    await eventually(
      'nothing to be left',
      async () =>
        (
          await leftOnEngine(
            bed.docker,
            nodes.map(({ name }) => name),
          )
        ).length === 0,
    );
  });
});

function run(args: readonly string[]): Promise<{ readonly code: number | null; readonly stderr: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(REPOSITORY, 'src/main.ts'), ...args], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, stderr }));
  });
}

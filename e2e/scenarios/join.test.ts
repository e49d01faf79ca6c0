import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { Demo, type DemoOptions } from '../demo/demo.ts';
import { REPOSITORY } from '../parts/paths.ts';
import { Progress } from '../parts/progress.ts';
import { TestBed } from '../parts/test-bed.ts';
import { isReady, PATIENCE_MS, podDraft, shell, UNTIL_TOLD } from '../scene.ts';

// `npm start -- --kubeconfig FILE`: what the command starts, without the place that all runs of the command share.
describe('joining an existing cluster', () => {
  let bed: TestBed;
  beforeAll(async () => {
    bed = await TestBed.open(inject('testBed'));
  });
  afterAll(() => bed.close());

  /** Returns what was said. */
  async function joined(options: DemoOptions, work: (report: string) => Promise<void>): Promise<string> {
    const said: string[] = [];
    const demo = new Demo(options, new Progress((line) => said.push(line)));
    let left: string[] = [];
    try {
      await work(await demo.start());
    } finally {
      left = await demo.stop();
    }
    expect(left).toEqual([]);
    return said.join('\n');
  }

  async function logsOf(node: string, namespace: string): Promise<string> {
    await bed.kube.create(podDraft({ node, namespace }, 'p', shell(`echo here; ${UNTIL_TOLD}`)));
    await bed.kube.waitFor('Pod', 'p', 'Ready', isReady, { namespace, timeoutMs: PATIENCE_MS });
    // The node's certificate is its own, and this API server verifies kubelets.
    return await bed.kube.logs('p', { insecureSkipTLSVerifyBackend: 'true' }, namespace);
  }

  it('takes the context and the pod network that it is told, serves logs, and takes its Node away', async () => {
    const kubeconfig = withWrongContext(bed.plane.kubeconfig, bed.folder('configs'));
    const options = { nodeName: 'joined', kubeconfig, context: 'right', podCidr: '10.213.7.0/24' };
    const namespace = await bed.kube.createNamespace();
    await joined(options, async (report) => {
      expect(report).toMatch(/^joined +Ready .* 10\.213\.7\.0\/24 /m);
      expect(await logsOf('joined', namespace)).toBe('here\n');
    });
    expect(await bed.kube.find('Node', 'joined')).toBeUndefined();
    await bed.kube.delete('Namespace', namespace);
  });

  it('goes on, after saying so, for a user who may not read who signs the clients of the cluster', async () => {
    const kubeconfig = await bed.plane.serviceAccountKubeconfig();
    const namespace = await bed.kube.createNamespace();
    const said = await joined({ nodeName: 'joined-account', kubeconfig, podCidr: '10.213.8.0/24' }, async (report) => {
      expect(report).toMatch(/^joined-account +Ready /m);
      await expect(logsOf('joined-account', namespace)).rejects.toThrow('asked for the client to provide credentials');
    });
    expect(said).toMatch(/^kubectl logs will not work, .* "extension-apiserver-authentication" is forbidden/m);
    expect(said).toMatch(/^the Node joined-account could not be deleted: /m);
    await bed.kube.delete('Node', 'joined-account');
    await bed.kube.delete('Namespace', namespace);
  });
});

it.each(['--context=other', '--pod-cidr=10.1.0.0/24'])('npm start refuses %s without --kubeconfig', (flag) => {
  const { status, stderr } = spawnSync(process.execPath, [join(REPOSITORY, 'e2e/demo/start.ts'), flag], {
    encoding: 'utf8',
  });
  expect(status).toBe(2);
  expect(stderr).toContain(`${flag.split('=')[0]} needs --kubeconfig\n\nusage:`);
});

interface Kubeconfig {
  readonly clusters: readonly object[];
  readonly contexts: readonly { readonly context: object }[];
}

/** A copy whose own context is `right`, and whose current one leads nowhere. */
function withWrongContext(kubeconfig: string, folder: string): string {
  const { clusters, contexts, ...rest } = parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig; // our own file
  const context = contexts[0]?.context;
  const text = stringify({
    ...rest,
    clusters: [...clusters, { name: 'nowhere', cluster: { server: 'https://127.0.0.1:1' } }],
    contexts: [
      { name: 'wrong', context: { ...context, cluster: 'nowhere' } },
      { name: 'right', context },
    ],
    'current-context': 'wrong',
  });
  mkdirSync(folder, { recursive: true });
  const file = join(folder, 'two-contexts.kubeconfig');
  writeFileSync(file, text, { mode: 0o600 });
  return file;
}

// `npm run conformance`: Kubernetes' own e2e specs against a fresh node.
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { binaryPath } from '../parts/build.ts';
import { runForeground } from '../parts/foreground.ts';
import { binaryDir, REPOSITORY } from '../parts/paths.ts';
import { Progress } from '../parts/progress.ts';
import { type SingleNode, withSingleNode } from '../parts/single-node.ts';

const USAGE = `usage: npm run conformance -- --focus REGEX [OPTIONS]

  --focus REGEX      specs whose full text matches, for example '\\[NodeConformance\\]'; may be repeated
  --skip REGEX       specs to leave out ('\\[Serial\\]|\\[Disruptive\\]|\\[Slow\\]')
  --report-dir DIR   gets the JUnit report
  --procs N          specs at a time (4)
`;

const progress = new Progress();

try {
  process.exit(await main());
} catch (error) {
  progress.say(error instanceof Error ? error.message : String(error));
  process.exit(1);
}

async function main(): Promise<number> {
  const { values: options } = parseArgs({
    options: {
      focus: { type: 'string', multiple: true, default: [] },
      skip: { type: 'string', default: '\\[Serial\\]|\\[Disruptive\\]|\\[Slow\\]' },
      'report-dir': { type: 'string' },
      procs: { type: 'string', default: '4' },
    },
  });
  if (options.focus.length === 0) {
    progress.say(USAGE);
    return 2;
  }
  const report = options['report-dir'];
  const suite: string[] = [];
  if (report !== undefined) {
    const dir = resolve(process.env['INIT_CWD'] ?? process.cwd(), report); // where npm was called
    mkdirSync(dir, { recursive: true });
    suite.push(`--report-dir=${dir}`);
  }

  const play = ({ plane, signal }: SingleNode): Promise<number> =>
    runForeground(
      binaryPath('ginkgo'),
      [
        `--procs=${options.procs}`,
        '--no-color',
        '--silence-skips',
        ...options.focus.map((focus) => `--focus=${focus}`),
        ...(options.skip === '' ? [] : [`--skip=${options.skip}`]),
        binaryPath('e2e.test'),
        '--',
        `--kubeconfig=${plane.kubeconfig}`,
        `--kubectl-path=${binaryPath('kubectl')}`,
        '--provider=skeleton',
        '--allowed-not-ready-nodes=5',
        '--non-blocking-taints=virtual-kubelet.io/provider,node-role.kubernetes.io/control-plane',
        ...suite,
      ],
      { cwd: REPOSITORY, env: { ...process.env, PATH: `${binaryDir()}:${process.env['PATH']}` }, signal },
    );
  return await withSingleNode(
    {
      kind: 'conformance',
      nodeName: 'outrigger-conformance',
      // The suite's pods tolerate nothing.
      args: ['--register-with-taints=', '--cluster-dns=10.96.0.10', '--cluster-domain=cluster.local'],
      binaries: ['kubectl', 'ginkgo', 'e2e.test'],
      images: ['pause', 'busybox', 'agnhost'],
    },
    progress,
    play,
  );
}

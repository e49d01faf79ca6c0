// `npm run conformance`: Kubernetes' own e2e specs against a fresh node.
import { mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { binaryPath } from '../parts/build.ts';
import { runForeground } from '../parts/foreground.ts';
import { binaryDir, REPOSITORY } from '../parts/paths.ts';
import { Progress } from '../parts/progress.ts';
import { type SingleNode, withSingleNode } from '../parts/single-node.ts';

const USAGE = `usage: npm run conformance -- [OPTIONS]

  --focus REGEX      specs whose full text matches, for example '\\[NodeConformance\\]'; may be repeated.
                     Without it those of e2e/conformance-expected.txt
  --skip REGEX       specs to leave out (with --focus '\\[Serial\\]|\\[Disruptive\\]|\\[Slow\\]')
  --report-dir DIR   gets the JUnit report (.outrigger/conformance)
  --procs N          specs at a time (4)
  --help             says this
`;
const EXPECTED = join(REPOSITORY, 'e2e/conformance-expected.txt');

const PASSED = /^(.*?)" classname="[^"]*" status="passed"/;

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
      skip: { type: 'string' },
      'report-dir': { type: 'string', default: join(REPOSITORY, '.outrigger/conformance') },
      procs: { type: 'string', default: '4' },
      help: { type: 'boolean', default: false },
    },
  });
  if (options.help) {
    progress.say(USAGE);
    return 0;
  }
  const expected = options.focus.length === 0 ? readExpected() : [];
  const focus = options.focus.length === 0 ? expected.map(literally) : options.focus;
  const skip = options.skip ?? (options.focus.length === 0 ? '' : '\\[Serial\\]|\\[Disruptive\\]|\\[Slow\\]');
  const reports = resolve(process.env['INIT_CWD'] ?? process.cwd(), options['report-dir']); // where npm was called
  mkdirSync(reports, { recursive: true });

  const play = ({ plane, signal }: SingleNode): Promise<number> =>
    runForeground(
      binaryPath('ginkgo'),
      [
        `--procs=${options.procs}`,
        '--no-color',
        '--silence-skips',
        ...focus.map((one) => `--focus=${one}`),
        ...(skip === '' ? [] : [`--skip=${skip}`]),
        binaryPath('e2e.test'),
        '--',
        `--kubeconfig=${plane.kubeconfig}`,
        `--kubectl-path=${binaryPath('kubectl')}`,
        '--provider=skeleton',
        '--allowed-not-ready-nodes=5',
        '--non-blocking-taints=virtual-kubelet.io/provider,node-role.kubernetes.io/control-plane',
        `--report-dir=${reports}`,
      ],
      { cwd: REPOSITORY, env: { ...process.env, PATH: `${binaryDir()}:${process.env['PATH']}` }, signal },
    );
  const code = await withSingleNode(
    {
      kind: 'conformance',
      nodeName: `outrigger-conformance-${process.pid}`, // two runs do not clean up each other's
      // The suite's pods tolerate nothing.
      args: ['--register-with-taints=', '--cluster-dns=10.96.0.10', '--cluster-domain=cluster.local'],
      binaries: ['kubectl', 'ginkgo', 'e2e.test'],
      images: ['pause', 'busybox', 'agnhost'],
    },
    progress,
    play,
  );
  if (code !== 0) return code;
  const missing = notPassed(join(reports, 'junit_01.xml'), expected);
  if (missing.length === 0) return 0;
  progress.say(`did not run: ${missing.join('\n  ')}`);
  return 1;
}

/** A name that matches no spec would pass in silence. */
function notPassed(report: string, names: readonly string[]): string[] {
  const xml = readFileSync(report, 'utf8').replaceAll('&#34;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
  const passed = new Set(xml.split('<testcase name="[It] ').flatMap((part) => PASSED.exec(part)?.[1] ?? []));
  return names.filter((name) => !passed.has(name));
}

/** One spec a line, by its full text; lines with # are for people. */
function readExpected(): string[] {
  return readFileSync(EXPECTED, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
}

function literally(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

// `npm run oracle`: plays the oracle's cases on a fresh node and compares them with what the real kubelet did.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { binaryPath } from '../parts/build.ts';
import { runForeground } from '../parts/foreground.ts';
import { REPOSITORY } from '../parts/paths.ts';
import { Progress } from '../parts/progress.ts';
import { type SingleNode, withSingleNode } from '../parts/single-node.ts';

const USAGE = `usage: npm run oracle -- --oracle DIR [OPTIONS]

  --oracle DIR    folder with oracle.mjs, cases/ and golden/ (or the variable OUTRIGGER_ORACLE)
  --only GLOBS    cases to play, separated by commas; without it those of e2e/oracle-expected.txt; '*' plays all
  --parallel N    cases at a time (2)
  --slack N       seconds that everything may be later (0)
  --notes         also print states that no recording of the golden showed
  --out FILE      the recording (.outrigger/oracle.json)
`;
const NODE = `orchid${process.pid}`; // a word that occurs nowhere in the output of a case, and that no other run has
/** As the kubelet of the golden recordings had it. */
const FLAGS = ['--cluster-dns=10.96.0.10', '--cluster-domain=cluster.local'];
const EXPECTED = join(REPOSITORY, 'e2e/oracle-expected.txt');

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
      oracle: { type: 'string', default: process.env['OUTRIGGER_ORACLE'] ?? '' },
      only: { type: 'string' },
      parallel: { type: 'string', default: '2' },
      slack: { type: 'string', default: '0' },
      notes: { type: 'boolean', default: false },
      out: { type: 'string', default: join(REPOSITORY, '.outrigger/oracle.json') },
    },
  });
  const cwd = process.env['INIT_CWD'] ?? process.cwd(); // where npm was called
  const dir = resolve(cwd, options.oracle);
  const tool = join(dir, 'oracle.mjs');
  if (options.oracle === '' || !existsSync(tool)) {
    progress.say(`${options.oracle === '' ? 'which oracle?' : `${tool} does not exist`}\n\n${USAGE}`);
    return 2;
  }
  const out = resolve(cwd, options.out);
  mkdirSync(join(out, '..'), { recursive: true });
  const only = options.only === '*' ? [] : ['--only', options.only ?? readExpected().join(',')];
  const golden = join(dir, 'golden/real-v1.36.3.json');

  const play = ({ plane, signal }: SingleNode): Promise<number> => {
    const env = { ...process.env, KUBECONFIG: plane.kubeconfig, KUBECTL: binaryPath('kubectl') };
    const args = [
      'run',
      '--node',
      NODE,
      '--cases',
      join(dir, 'cases'),
      '--out',
      out,
      '--parallel',
      options.parallel,
      ...only,
    ];
    return runForeground(process.execPath, [tool, ...args], { cwd: dir, env, signal });
  };
  const code = await withSingleNode(
    { kind: 'oracle', nodeName: NODE, args: FLAGS, binaries: ['kubectl'], images: ['pause', 'busybox', 'agnhost'] },
    progress,
    play,
  );
  if (code !== 0) return code;
  const missing = missingCases(out, options.only === undefined ? readExpected() : []);
  if (missing.length > 0) {
    progress.say(`the oracle has no case ${missing.join(', ')}`);
    return 1;
  }
  const diff = ['diff', golden, out, '--slack', options.slack, ...only, ...(options.notes ? ['--notes'] : [])];
  return await runForeground(process.execPath, [tool, ...diff], {
    cwd: dir,
    env: process.env,
    signal: new AbortController().signal,
  });
}

/** A name that matches no case would pass in silence. */
function missingCases(recording: string, names: readonly string[]): string[] {
  const { cases } = JSON.parse(readFileSync(recording, 'utf8')) as { cases: Record<string, unknown> }; // the oracle's recording
  if (Object.keys(cases).length === 0) return ['of that name'];
  return names.filter((name) => !name.includes('*') && !Object.hasOwn(cases, name));
}

/** One case a line; text behind # is for people. */
function readExpected(): string[] {
  return readFileSync(EXPECTED, 'utf8')
    .split('\n')
    .map((line) => line.replace(/#.*/, '').trim())
    .filter((line) => line !== '');
}

// `npm test`: everything, each suite after what it needs, builds beside the unit tests. `npm run test:long`: the slow ones.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildBinaries, CONTROL_PLANE_BINARIES } from './parts/build.ts';
import { ensureEngine } from './parts/dockerd.ts';
import { ensureImages } from './parts/images.ts';
import { REPOSITORY } from './parts/paths.ts';
import { isOnPath } from './parts/process.ts';
import { Progress } from './parts/progress.ts';
import { cleanDeadRuns } from './parts/runs.ts';
import { type Counts, failedRun, NO_COUNTS, readCounts, sum } from './parts/suite-report.ts';

const CHECKS = ['check:format', 'check:lint', 'check:types', 'check:deps', 'check:dead'];

const { values: options } = parseArgs({
  options: {
    /** Also format, lint, types, dependency rule and dead code, one test each. */
    'with-checks': { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
  },
});
const progress = new Progress();
const reports = join(REPOSITORY, '.outrigger/reports');
const ledger: { readonly what: string; readonly seconds: number }[] = [];
let current: ChildProcess | undefined;
let stopped = false;

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    current?.kill(signal);
    setTimeout(() => process.exit(1), 30_000).unref();
    stopped = true;
  });
}
process.exitCode = await main();

async function main(): Promise<number> {
  rmSync(reports, { recursive: true, force: true });
  mkdirSync(reports, { recursive: true });
  await cleanDeadRuns(progress);
  const counts: Counts[] = [];
  let release = async (): Promise<void> => undefined;
  const prepared = timed('builds, engine, images', prepare).then(
    (engine) => {
      release = engine.release;
      return true;
    },
    (error: unknown) => {
      progress.say(`cannot prepare the tests: ${describe(error)}`);
      return false;
    },
  );
  try {
    if (!options.long) {
      counts.push(await suite('unit'));
      if (options['with-checks']) counts.push(...(await checks()));
    }
    if (!(await prepared)) counts.push(failedRun('the preparation', 1));
    else if (options.long) counts.push(await suite('long'));
    else for (const project of ['integration', 'e2e']) counts.push(await suite(project));
  } finally {
    if (await prepared) await release();
    await cleanDeadRuns(progress);
  }
  for (const { what, seconds } of ledger) progress.say(`${String(seconds).padStart(5)} s  ${what}`);
  const { passed, failed, failures } = sum(counts);
  // Repeated here, since what is kept of a long output is often its end.
  for (const failure of failures) progress.say(`\nFAILED ${failure}`);
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  return failed === 0 && !stopped ? 0 : 1;
}

/** What integration and e2e tests need beyond their own control plane, so that the builds run beside the unit tests. */
async function prepare(): ReturnType<typeof ensureEngine> {
  const engine = await ensureEngine(progress);
  try {
    await buildBinaries([...CONTROL_PLANE_BINARIES, ...(isOnPath('kubectl') ? [] : (['kubectl'] as const))], progress);
    await ensureImages(engine.docker, ['pause', 'busybox', 'hello'], progress);
    return engine;
  } catch (error) {
    await engine.release();
    throw error;
  }
}

async function suite(project: string): Promise<Counts> {
  if (stopped) return NO_COUNTS;
  progress.say(`\n== ${project} tests`);
  const file = join(reports, `${project}.json`);
  const vitest = join(REPOSITORY, 'node_modules/vitest/vitest.mjs');
  const args = [vitest, 'run', '--project', project, '--passWithNoTests', '--reporter=default', '--reporter=json'];
  const code = await timed(`${project} tests`, () => command(process.execPath, [...args, `--outputFile.json=${file}`]));
  return readCounts(`${project} tests`, file, code);
}

async function checks(): Promise<Counts[]> {
  const counts: Counts[] = [];
  for (const check of CHECKS) {
    if (stopped) break;
    progress.say(`\n== ${check}`);
    const code = await timed(check, () => command('npm', ['run', '--silent', check]));
    counts.push(code === 0 ? { ...NO_COUNTS, passed: 1 } : failedRun(check, code));
  }
  return counts;
}

function command(name: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve) => {
    const child = spawn(name, args, { cwd: REPOSITORY, stdio: ['ignore', 'inherit', 'inherit'] });
    current = child;
    child.once('exit', (code) => resolve(code ?? 1));
    child.once('error', (error) => {
      progress.say(error.message);
      resolve(1);
    });
  });
}

async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  try {
    return await work();
  } finally {
    ledger.push({ what, seconds: Math.round((performance.now() - start) / 1000) });
  }
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}\n  because: ${describe(error.cause)}`;
}

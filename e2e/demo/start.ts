// `npm start`: a control plane, a virtual node and a Deployment on it. See README.
import { parseArgs } from 'node:util';
import { Progress } from '../parts/progress.ts';
import { cleanDeadRuns } from '../parts/runs.ts';
import { startDetached } from './detach.ts';
import { Demo } from './demo.ts';
import { announceReady, claimDemo, demoOwner, giveUpDemo, readyReport } from './state.ts';

const USAGE = `usage: npm start [-- OPTIONS]

  --detach            return when everything is ready; \`npm stop\` ends it
  --kubeconfig FILE   join this cluster instead of starting a private control plane; nothing is applied to it
  --context NAME      the context of that file, if not its current one
  --pod-cidr CIDR     the node's pod network, if that cluster gives it none
  --node-name NAME    name of the node (outrigger)
`;

const progress = new Progress();

const code = await main().catch((error: unknown) => {
  progress.say(`\n${describe(error)}`);
  return 1;
});
// Not by running out of work: when interrupted, a build may still be going on, which ends with us.
process.exit(code);

async function main(): Promise<number> {
  const options = readOptions();
  if (typeof options === 'number') return options;
  const owner = demoOwner();
  if (owner !== undefined) {
    progress.say(`It runs already (process ${owner.pid}). Stop it first: npm stop`);
    process.stdout.write(readyReport() ?? '');
    return 1;
  }
  if (options.detach) {
    return await startDetached([...process.argv.slice(2).filter((arg) => arg !== '--detach'), '--background']);
  }

  claimDemo();
  const interrupted = new AbortController();
  // Later ones are ignored: what was begun is cleaned up in any case.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => interrupted.abort());
  await cleanDeadRuns(progress);
  const demo = new Demo(options, progress);
  try {
    const report = await untilAborted(demo.start(), interrupted.signal);
    if (report === undefined) return 130;
    announceReady(report);
    process.stdout.write(report);
    if (!options.background) progress.say('\nPress Ctrl-C to remove everything again (or run npm stop).');
    await untilAborted(demo.ended(), interrupted.signal);
    return interrupted.signal.aborted ? 0 : 1;
  } finally {
    progress.say('\nremoving everything …');
    const left = await demo.stop();
    giveUpDemo();
    progress.say(left.length === 0 ? 'nothing is left' : `could not remove:\n  ${left.join('\n  ')}`);
  }
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        detach: { type: 'boolean', default: false },
        background: { type: 'boolean', default: false }, // what --detach starts
        kubeconfig: { type: 'string' },
        context: { type: 'string' },
        'pod-cidr': { type: 'string' },
        'node-name': { type: 'string', default: 'outrigger' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
    if (values.help) {
      process.stdout.write(USAGE);
      return 0;
    }
    for (const name of ['context', 'pod-cidr'] as const) {
      if (values[name] !== undefined && values.kubeconfig === undefined)
        throw new Error(`--${name} needs --kubeconfig`);
    }
    return { ...values, nodeName: values['node-name'], podCidr: values['pod-cidr'] };
  } catch (error) {
    progress.say(`${describe(error)}\n\n${USAGE}`);
    return 2;
  }
}

/** Undefined if the signal came first. The work's own failure after that is nobody's business any more. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  const aborted = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
  work.catch(() => undefined); // when it loses the race
  return await Promise.race([work, aborted]);
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : `${error.message}\n  because: ${describe(error.cause)}`;
}

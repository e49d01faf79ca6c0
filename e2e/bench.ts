// `npm run bench -- --pods N`: N pods bound at once to a node with the fake provider, through a real API server.
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type ApiRequests, parseApiRequests, podWrites, requestsSince } from './parts/api-requests.ts';
import { buildBundle } from './parts/bundle.ts';
import { type ControlPlane, startControlPlane } from './parts/control-plane.ts';
import type { Kube } from './parts/kube.ts';
import { startNode } from './parts/outrigger.ts';
import { PodCensus } from './parts/pod-census.ts';
import { processUsage } from './parts/process-usage.ts';
import { Progress } from './parts/progress.ts';
import { cleanDeadRuns, Run } from './parts/runs.ts';
import { scrapeTimes } from './parts/scrape.ts';
import { sleep, waitFor } from './parts/wait.ts';

const NODE = 'bench';
const NAMESPACE = 'default';
/** Requests of ours under way at once: enough to keep the API server busy, few enough not to measure its queues. */
const CONCURRENCY = 20;
const TIMEOUT_MS = 300_000;
const LOGS = '.outrigger/bench';

const { values: options } = parseArgs({
  options: {
    pods: { type: 'string', default: '300' },
    'idle-seconds': { type: 'string', default: '30' },
    /** Pods without the token volume that the API server adds. */
    'no-token': { type: 'boolean', default: false },
    'max-ready-seconds': { type: 'string' },
    'max-gone-seconds': { type: 'string' },
    'max-cpu-seconds': { type: 'string' },
    'max-rss-mb': { type: 'string' },
    /** Of one page of statistics with all pods on it. */
    'max-scrape-ms': { type: 'string' },
    /** Writes about pods in the idle time. */
    'max-idle-writes': { type: 'string' },
    /** Leaves the logs in .outrigger/bench also when all went well; debug level. */
    'keep-logs': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

interface Figure {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  readonly bound?: number;
}

const progress = new Progress();

if (options.help) {
  console.log(`npm run bench -- [--pods 300] [--idle-seconds 30] [--no-token] [--keep-logs]
  [--max-ready-seconds N] [--max-gone-seconds N] [--max-cpu-seconds N] [--max-rss-mb N] [--max-idle-writes N]
  [--max-scrape-ms N]
Exits with 1 when a bound is exceeded.`);
} else {
  process.exitCode = await main();
}

async function main(): Promise<number> {
  // A mistyped bound is better told now than after two minutes.
  for (const name of ['max-ready-seconds', 'max-gone-seconds', 'max-cpu-seconds', 'max-rss-mb'] as const) number(name);
  const pods = number('pods') ?? 300;
  await cleanDeadRuns(progress);
  const run = Run.open('bench');
  let keepLogs = options['keep-logs'];
  let plane: ControlPlane | undefined;
  const close = async (): Promise<void> => {
    await plane?.stop();
    await run.close();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // Whoever pressed Ctrl-C does not wait for a result.
    process.once(signal, () => void close().finally(() => process.exit(1)));
  }
  try {
    plane = await startControlPlane({ dir: join(run.dir, 'plane'), parts: ['apiserver'], progress });
    const kube = await plane.kube();
    try {
      return report(await measure(plane, kube, run, pods));
    } finally {
      kube.close();
    }
  } catch (error) {
    progress.say(error instanceof Error ? error.message : String(error));
    keepLogs = true;
    return 1;
  } finally {
    if (keepLogs) {
      run.keepLogs(LOGS);
      progress.say(`logs: ${LOGS}`);
    }
    await close();
  }
}

async function measure(
  plane: ControlPlane,
  kube: Kube,
  run: Run,
  pods: number,
): Promise<{ figures: Figure[]; requests: ApiRequests }> {
  // What a controller manager would make; admission wants the account, the token volume wants the bundle.
  await kube.create({ kind: 'ServiceAccount', metadata: { name: 'default', namespace: NAMESPACE } });
  await kube.create({
    kind: 'ConfigMap',
    metadata: { name: 'kube-root-ca.crt', namespace: NAMESPACE },
    data: { 'ca.crt': 'a bundle' },
  });
  const node = await startNode({
    plane,
    nodeName: NODE,
    dir: join(run.dir, 'nodes'),
    provider: 'fake',
    program: buildBundle(),
    nodeIp: '127.0.0.1',
    // As in a cluster: without it every pod has one event more.
    args: [`--max-pods=${pods + 10}`, '--cluster-dns=10.96.0.10', options['keep-logs'] ? '-v=4' : '-v=2'],
  });
  const census = new PodCensus(kube, NAMESPACE);
  try {
    await node.waitReady(kube);
    await sleep(500); // the census's watch opens; the node's first writes are over
    const load = loadavg()[0] ?? 0;
    const started = processUsage(node.pid);
    const before = await apiRequests(kube);
    const names = Array.from({ length: pods }, (_, index) => `pod-${index}`);

    progress.say(`creating ${pods} pods …`);
    const createStart = performance.now();
    const created = inParallel(names, (name) => createPod(kube, name));
    const ready = (await Promise.all([census.allReady(pods, TIMEOUT_MS), created]))[0] - createStart;

    const idleSeconds = number('idle-seconds') ?? 30;
    progress.say(`all Ready after ${(ready / 1000).toFixed(1)} s; idle for ${idleSeconds} s …`);
    await quiet(kube);
    const idleUsage = processUsage(node.pid);
    const idleStart = await apiRequests(kube);
    await sleep(idleSeconds * 1000);
    const idle = requestsSince(idleStart, await apiRequests(kube));
    const idleCpu = processUsage(node.pid).cpuSeconds - idleUsage.cpuSeconds;

    const scrapes = await scrapeTimes(node, plane.kubeletClient);

    progress.say(`deleting ${pods} pods …`);
    const deleteStart = performance.now();
    const deleted = inParallel(names, (name) => kube.delete('Pod', name, { namespace: NAMESPACE }));
    const gone = (await Promise.all([census.allGone(pods, TIMEOUT_MS), deleted]))[0] - deleteStart;

    const usage = processUsage(node.pid);
    const own = new Map([
      ['POST pods', pods],
      ['DELETE pods', pods],
    ]);
    return {
      requests: requestsSince(before, await apiRequests(kube), own),
      figures: [
        figure('all Ready after the first create', ready / 1000, 's', 'max-ready-seconds'),
        figure('  half of them after', census.medianReady() / 1000 - createStart / 1000, 's'),
        figure('all gone after the first delete', gone / 1000, 's', 'max-gone-seconds'),
        figure('  half of them after', census.medianGone() / 1000 - deleteStart / 1000, 's'),
        ...scrapes.map(({ path, medianMs }) => figure(`scrape of ${path}`, medianMs, 'ms', 'max-scrape-ms')),
        figure('CPU time of the process', usage.cpuSeconds, 's', 'max-cpu-seconds'),
        figure('  of it before the first pod', started.cpuSeconds, 's'),
        figure(`  of it while idle for ${idleSeconds} s`, idleCpu, 's'),
        figure('peak memory of the process', usage.peakRssMb, 'MB', 'max-rss-mb'),
        figure('  of it before the first pod', started.peakRssMb, 'MB'),
        figure(`load of the machine before (it has ${availableParallelism()} processors)`, load, ''),
        figure('API writes about pods while idle', podWrites(idle), '', 'max-idle-writes'),
      ],
    };
  } finally {
    census.close();
    await node.stop();
  }
}

async function createPod(kube: Kube, name: string): Promise<void> {
  await kube.create({
    kind: 'Pod',
    metadata: { name, namespace: NAMESPACE, labels: { app: 'bench' } },
    spec: {
      nodeName: NODE,
      containers: [{ name: 'main', image: 'example.com/bench:1' }],
      ...(options['no-token'] ? { automountServiceAccountToken: false } : {}),
    },
  });
}

async function apiRequests(kube: Kube): Promise<ApiRequests> {
  return parseApiRequests(await kube.http.text({ method: 'GET', path: '/metrics' }));
}

/** Events are sent at a limited rate and trail behind; the idle time begins when nothing about pods was written for five seconds. */
async function quiet(kube: Kube): Promise<void> {
  let last = -1;
  let since = performance.now();
  await waitFor(
    async () => {
      const writes = podWrites(await apiRequests(kube));
      if (writes !== last) since = performance.now();
      last = writes;
      return performance.now() - since >= 5000;
    },
    { what: 'the writes about pods to end', timeoutMs: 120_000, intervalMs: 500 },
  ).catch((error: unknown) => progress.say(String(error)));
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}

function number(name: Exclude<keyof typeof options, 'help' | 'no-token' | 'keep-logs'>): number | undefined {
  const text = options[name];
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isFinite(value) && value >= 0) return value;
  process.stderr.write(`--${name}: not a number: ${text}\n`);
  process.exit(2);
}

function figure(name: string, value: number, unit: string, bound?: Parameters<typeof number>[0]): Figure {
  const limit = bound === undefined ? undefined : number(bound);
  return { name, value, unit, ...(limit === undefined ? {} : { bound: limit }) };
}

function report({ figures, requests }: { figures: readonly Figure[]; requests: ApiRequests }): number {
  const width = Math.max(...figures.map(({ name }) => name.length));
  for (const { name, value, unit, bound } of figures) {
    const text = Number.isInteger(value) ? String(value) : value.toFixed(2);
    const verdict = bound === undefined ? '' : value > bound ? `  exceeds ${bound}` : `  (at most ${bound})`;
    console.log(`${name.padEnd(width)}  ${text.padStart(8)} ${unit}${verdict}`);
  }
  console.log('\nAPI requests from the first create to the last pod gone (without those of this benchmark)');
  for (const [name, count] of [...requests].toSorted((a, b) => b[1] - a[1]))
    console.log(`${name.padEnd(width)}  ${String(count).padStart(8)}`);
  return figures.some(({ value, bound }) => bound !== undefined && value > bound) ? 1 : 0;
}

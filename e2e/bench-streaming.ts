// `npm run bench:streaming`: what exec and port-forward carry through a real API server, in each way they can take.
import { readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { ensureEngine } from './parts/dockerd.ts';
import { processUsage } from './parts/process-usage.ts';
import { Progress } from './parts/progress.ts';
import { canRunRealKubelet } from './parts/real-kubelet.ts';
import { cleanDeadRuns, Run } from './parts/runs.ts';
import { StreamingBed, type Target } from './streaming/bed.ts';
import type { Lane } from './streaming/lane.ts';
import { TRANSFERS, type TransferName } from './streaming/transfers.ts';

const LANES: readonly Lane[] = ['T', 'W', 'R'];
const LOGS = '.outrigger/bench-streaming';

const { values: options } = parseArgs({
  options: {
    megabytes: { type: 'string', default: '200' },
    rounds: { type: 'string', default: '3' },
    lanes: { type: 'string', default: LANES.join(',') },
    /** Names of transfers, separated by commas. */
    only: { type: 'string' },
    'no-real': { type: 'boolean', default: false },
    /** Folder for a CPU profile of our node, written when it ends. */
    profile: { type: 'string' },
    'keep-logs': { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

/** One transfer: costs of the node's process and of the API server. */
interface Sample {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly apiCpuSeconds: number;
  /** Of the node's process, at its peak. */
  readonly growthMb: number;
}

interface Row {
  readonly transfer: TransferName;
  readonly target: Target['name'];
  readonly lane: Lane;
  readonly samples: Sample[];
}

const progress = new Progress();
const megabytes = Number(options.megabytes);

if (options.help) {
  console.log(`npm run bench:streaming -- [--megabytes 200] [--rounds 3] [--lanes T,W,R] [--only NAMES] [--no-real] [--profile DIR] [--keep-logs]
  Lanes: T translated by the API server, W WebSocket as far as the node, R SPDY all the way.
  Transfers: ${Object.keys(TRANSFERS).join(', ')}.
  As root and with containerd, Kubernetes' own kubelet does the same in turn, and ratios are printed.`);
} else {
  process.exitCode = await main();
}

async function main(): Promise<number> {
  await cleanDeadRuns(progress);
  const engine = await ensureEngine(progress);
  const run = Run.open('bench-streaming');
  const bed = new StreamingBed(run, engine, progress, megabytes * 1e6);
  const close = async (): Promise<void> => {
    await bed.close();
    await run.close();
    await engine.release();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    // Whoever pressed Ctrl-C does not wait for a result.
    process.once(signal, () => void close().finally(() => process.exit(1)));
  }
  let keepLogs = options['keep-logs'];
  try {
    const nodeArgs = options.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${options.profile}`];
    await bed.open({ real: !options['no-real'] && canRunRealKubelet(), nodeArgs });
    report(await measure(bed));
    return 0;
  } catch (error) {
    keepLogs = true;
    progress.say(error instanceof Error ? (error.stack ?? error.message) : String(error));
    return 1;
  } finally {
    if (keepLogs) {
      run.keepLogs(LOGS);
      progress.say(`logs: ${LOGS}`);
    }
    await close();
  }
}

/** Every round takes each way once, one beside the other, so that what else the machine does meets them alike. */
async function measure(bed: StreamingBed): Promise<Row[]> {
  const lanes = LANES.filter((lane) => options.lanes.split(',').includes(lane));
  const names = (Object.keys(TRANSFERS) as TransferName[]).filter(
    (name) => options.only === undefined || options.only.split(',').includes(name),
  ); // keys of the table
  const rows = names.flatMap((transfer) =>
    bed.targets.flatMap(({ name }) => lanes.map((lane): Row => ({ transfer, target: name, lane, samples: [] }))),
  );
  for (let round = 1; round <= Number(options.rounds); round++) {
    for (const row of rows) {
      const target = bed.targets.find(({ name }) => name === row.target);
      if (target === undefined) continue;
      const sample = await play(bed, target, row);
      row.samples.push(sample);
      progress.say(
        `${round}: ${row.transfer}, ${row.target} ${row.lane}: ${sample.seconds.toFixed(2)} s, CPU ${sample.cpuSeconds.toFixed(2)} s`,
      );
    }
  }
  return rows;
}

async function play(bed: StreamingBed, target: Target, { transfer, lane }: Row): Promise<Sample> {
  const { pod, ports, pid } = target;
  const { kubeconfig, pid: apiPid } = bed.apiServer(lane);
  const stage = {
    kubeconfig,
    lane,
    pod,
    ports,
    bytes: megabytes * 1e6,
    file: bed.file,
    answersAfterEnd: target.name === 'outrigger',
  };
  const rss = forgetPeak(pid);
  const [before, apiBefore] = [processUsage(pid), processUsage(apiPid)];
  const seconds = await TRANSFERS[transfer](stage);
  const [after, apiAfter] = [processUsage(pid), processUsage(apiPid)];
  // A refused WebSocket is tried again as SPDY without a word.
  const transport = bed.lastTransport();
  if (target.name === 'outrigger' && transport !== (lane === 'W' ? 'websocket' : 'spdy')) {
    throw new Error(`lane ${lane} went by ${transport}`);
  }
  return {
    seconds,
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
    apiCpuSeconds: apiAfter.cpuSeconds - apiBefore.cpuSeconds,
    growthMb: after.peakRssMb - rss,
  };
}

/** The peak is counted anew from here; answers what is resident now. */
function forgetPeak(pid: number): number {
  writeFileSync(`/proc/${pid}/clear_refs`, '5'); // proc(5): resets VmHWM
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}

function report(rows: readonly Row[]): void {
  console.log(`${megabytes} MB, ${availableParallelism()} processors, load ${loadavg()[0]?.toFixed(1)}; medians`);
  console.log('transfer        node       lane     s    MB/s  vs kubelet W  CPU s  API server CPU s  RSS growth MB');
  for (const { transfer, target, lane, samples } of rows) {
    const seconds = median(samples, 'seconds');
    const reference = rows.find((row) => row.transfer === transfer && row.target === 'kubelet' && row.lane === 'W');
    const ratio = reference === undefined ? '' : (median(reference.samples, 'seconds') / seconds).toFixed(2);
    const rate = transfer === '5 x exec true' ? '' : (megabytes / seconds).toFixed(0);
    console.log(
      [
        transfer.padEnd(15),
        target.padEnd(10),
        lane.padEnd(4),
        seconds.toFixed(2).padStart(6),
        rate.padStart(6),
        ratio.padStart(13),
        median(samples, 'cpuSeconds').toFixed(2).padStart(6),
        median(samples, 'apiCpuSeconds').toFixed(2).padStart(17),
        median(samples, 'growthMb').toFixed(0).padStart(14),
      ].join(' '),
    );
  }
}

function median(samples: readonly Sample[], key: keyof Sample): number {
  const values = samples.map((sample) => sample[key]).toSorted((a, b) => a - b);
  return values[Math.floor((values.length - 1) / 2)] ?? Number.NaN;
}

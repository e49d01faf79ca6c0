import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { binaryPath } from '../parts/build.ts';
import type { Draft } from '../parts/kube.ts';
import { podDraft, shell } from '../scene.ts';
import { type Lane, laneEnv, localPort } from './lane.ts';

export interface Stage {
  readonly kubeconfig: string;
  readonly lane: Lane;
  readonly pod: string;
  readonly ports: TransferPorts;
  readonly bytes: number;
  /** A pod may answer after the client's end; containerd 1.6 closes then, and the answer is lost. */
  readonly answersAfterEnd: boolean;
  /** A file of so many bytes. */
  readonly file: string;
}

type Caller = Pick<Stage, 'kubeconfig' | 'lane' | 'pod'>;

export interface TransferPorts {
  /** Sends the bytes to whoever connects. */
  readonly source: number;
  /** Takes all there is, then answers with a line. */
  readonly sink: number;
}

/** A pod that plays the other side of each transfer. */
export function transferPod(
  place: { readonly node: string; readonly namespace: string },
  name: string,
  { ports, bytes, hostNetwork }: Pick<Stage, 'ports' | 'bytes'> & { readonly hostNetwork: boolean },
): Draft<'Pod'> {
  const script = [
    `dd if=/dev/urandom of=/tmp/data bs=1000000 count=${bytes / 1e6} 2>/dev/null`,
    `nc -ll -p ${ports.source} -e cat /tmp/data &`,
    `nc -ll -p ${ports.sink} -e sh -c 'cat >/dev/null; echo taken' &`,
    "touch /tmp/ready; trap 'exit 0' TERM; while true; do sleep 1; done",
  ];
  return podDraft(place, name, shell(script.join('\n')), {
    hostNetwork,
    tolerations: [{ operator: 'Exists' }],
  });
}

/** The pod has its data and listens; fails until then. */
export async function isPlaying(stage: Caller): Promise<boolean> {
  return await exec(stage, ['test', '-e', '/tmp/ready']).then(
    () => true,
    () => false,
  );
}

/** Seconds that each took. */
export const TRANSFERS = {
  'exec stdout': (stage) => timed(() => exec(stage, ['cat', '/tmp/data'])),
  'exec stdin': (stage) => timed(() => exec(stage, ['sh', '-c', 'cat >/dev/null; true'], stage.file)),
  'forward down': (stage) => forwarded(stage, stage.ports.source, download),
  'forward up': (stage) => forwarded(stage, stage.ports.sink, upload),
  '5 x exec true': (stage) =>
    timed(async () => {
      for (let round = 0; round < 5; round++) await exec(stage, ['true']);
    }),
} as const satisfies Record<string, (stage: Stage) => Promise<number>>;

export type TransferName = keyof typeof TRANSFERS;

async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1000;
}

function kubectl(
  stage: Caller,
  args: readonly string[],
  stdin: 'ignore' | number,
  stdout: 'ignore' | 'pipe',
): ChildProcess {
  return spawn(binaryPath('kubectl'), [`--kubeconfig=${stage.kubeconfig}`, ...args], {
    stdio: [stdin, stdout, 'inherit'],
    env: laneEnv(stage.lane),
  });
}

async function exec(stage: Caller, command: readonly string[], input?: string): Promise<void> {
  const stdin = input === undefined ? 'ignore' : openSync(input, 'r');
  try {
    const interactive = input === undefined ? [] : ['-i'];
    const child = kubectl(stage, ['exec', ...interactive, stage.pod, '-c', 'main', '--', ...command], stdin, 'ignore');
    const [code] = (await once(child, 'exit')) as [number | null]; // the event of a child
    if (code !== 0) throw new Error(`kubectl exec ${command[0]}: exit code ${code}`);
  } finally {
    if (typeof stdin === 'number') closeSync(stdin);
  }
}

async function forwarded(
  stage: Stage,
  port: number,
  transfer: (localPort: number, stage: Stage) => Promise<void>,
): Promise<number> {
  const child = kubectl(stage, ['port-forward', `pod/${stage.pod}`, `:${port}`], 'ignore', 'pipe');
  const exited = once(child, 'exit');
  try {
    if (child.stdout === null) throw new Error('no stdout');
    const [line] = (await Promise.race([once(createInterface(child.stdout), 'line'), exited])) as [unknown]; // a line, or an exit code
    const local = localPort(line);
    if (local === undefined) throw new Error(`kubectl port-forward: ${line}`);
    return await timed(() => transfer(local, stage));
  } finally {
    child.kill('SIGINT');
    await exited;
  }
}

async function download(port: number, { bytes }: Stage): Promise<void> {
  const socket = connect(port, '127.0.0.1');
  let received = 0;
  for await (const chunk of socket) received += (chunk as Buffer).length; // of a socket without encoding
  if (received !== bytes) throw new Error(`${received} bytes arrived instead of ${bytes}`);
}

async function upload(port: number, { bytes, answersAfterEnd }: Stage): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  const chunk = Buffer.alloc(1_000_000, 'q');
  const answer = socket.toArray();
  for (let sent = 0; sent < bytes; sent += chunk.length) {
    if (!socket.write(chunk)) await once(socket, 'drain');
  }
  socket.end();
  const text = Buffer.concat((await answer) as Buffer[]).toString(); // of a socket without encoding
  if (answersAfterEnd && text !== 'taken\n') throw new Error(`the pod answered ${JSON.stringify(text)}`);
}

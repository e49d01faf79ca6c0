import type { Readable } from 'node:stream';
import type { ContainerRef, ExecExit, ExecFacet, ExecSession } from '../../../providers/contract/index.ts';
import type { Container } from '../../model/pod.ts';
import { expand } from '../../spec/expand.ts';
import { untilAborted } from '../../util/abort.ts';
import { formatDuration } from '../../util/duration.ts';
import { errorMessage } from '../../util/errors.ts';
import { goQuote } from '../../util/go-quote.ts';
import { type Attempt, errored, failure, isAway, MAX_OUTPUT_BYTES, SUCCESS } from './attempt.ts';
import type { Deadline } from './deadline.ts';

/** `$(NAME)` from `env[].value` as it is written; nothing that needs to be resolved (reference 4.4). */
export function probeCommand(command: readonly string[], { env = [] }: Container): readonly string[] {
  const values = new Map(env.map(({ name, value = '' }) => [name, value]));
  return command.map((word) => expand(word, (name) => values.get(name)));
}

/** Runs the command in the container (reference 4.4). */
export async function probeExec(
  exec: ExecFacet,
  ref: ContainerRef,
  command: readonly string[],
  deadline: Deadline,
): Promise<Attempt> {
  const { signal } = deadline;
  try {
    const opening = exec.exec(ref, { command, tty: false, stdin: false, killOnAbort: true }, { signal });
    const session = await untilAborted(opening, signal).catch((error: unknown) => {
      opening.then(discard, () => undefined);
      throw error;
    });
    const { exit, output } = await untilAborted(ended(session), signal);
    if (exit.type === 'exited') return exit.code === 0 ? SUCCESS : failure(output);
    throw exit.error;
  } catch (error: unknown) {
    if (deadline.expired) return failure(timedOut(command, deadline.timeoutMs));
    return isAway(error) ? { type: 'away', error } : errored(errorMessage(error));
  }
}

/** The command of a hook, until it ends or the signal aborts; what it does afterwards is its own affair. */
export async function runCommand(
  exec: ExecFacet,
  ref: ContainerRef,
  command: readonly string[],
  signal: AbortSignal,
): Promise<{ readonly code: number; readonly output: string; readonly stderr: string }> {
  const session = await exec.exec(ref, { command, tty: false, stdin: false }, { signal });
  const { exit, output, stderr } = await untilAborted(ended(session), signal);
  if (exit.type === 'failed') throw exit.error;
  return { code: exit.code, output, stderr };
}

/** The kubelet's client of the runtime says it so (cri-client: ErrCommandTimedOut). */
function timedOut(command: readonly string[], timeoutMs: number): string {
  return `command timed out: ${goQuote(command.join(' '))} timed out after ${formatDuration(timeoutMs)}`;
}

/** Both outputs are read to their ends, as a full pipe would hold the command back; what is more than the limit is dropped. */
interface Ended {
  readonly exit: ExecExit;
  readonly output: string;
  readonly stderr: string;
}

async function ended(session: ExecSession): Promise<Ended> {
  const stdout = collect(session.stdout);
  const stderr = session.stderr === undefined ? undefined : collect(session.stderr);
  const exit = await session.exit;
  // Not interleaved on the kubelet either: first all of stdout, then all of stderr.
  const bytes = Buffer.concat([...stdout, ...(stderr ?? [])]).subarray(0, MAX_OUTPUT_BYTES);
  return { exit, output: bytes.toString('utf8'), stderr: Buffer.concat(stderr ?? []).toString('utf8') };
}

function collect(stream: Readable): readonly Buffer[] {
  const chunks: Buffer[] = [];
  let length = 0;
  stream.on('error', () => undefined); // `exit` tells
  stream.on('data', (chunk: Buffer) => {
    if (length >= MAX_OUTPUT_BYTES) return;
    chunks.push(chunk.subarray(0, MAX_OUTPUT_BYTES - length));
    length += chunk.length;
  });
  return chunks;
}

/** A session that came after its time: the aborted signal ends it, and nobody may be surprised by the errors of its streams. */
function discard({ stdout, stderr }: ExecSession): void {
  for (const stream of [stdout, stderr]) stream?.on('error', () => undefined).destroy();
}

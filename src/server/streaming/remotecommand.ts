import type { Readable, Writable } from 'node:stream';
import type { CallOptions, ExecExit, ExecSession } from '../../../providers/contract/index.ts';
import type { Logger } from '../../telemetry/logger.ts';
import { ChildAbort, untilAborted } from '../../util/abort.ts';
import { errorMessage } from '../../util/errors.ts';
import type { RemoteSession } from './session.ts';
import { exitStatus, internalStatus, type StreamStatus, successStatus } from './status.ts';

export interface RemoteCommand {
  readonly type: 'exec' | 'attach';
  open(options: CallOptions): Promise<ExecSession>;
}

/**
 * Joins the client's streams with those of the backend until the command ends or the client is gone; then the backend's session
 * is aborted, whether or not it answers. Never rejects.
 */
export async function runRemoteCommand(
  remote: RemoteSession,
  command: RemoteCommand,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  using child = new ChildAbort(remote.signal);
  const { signal } = child;
  let exit: ExecExit;
  try {
    const session = await untilAborted(command.open({ signal }), signal);
    exit = await untilAborted(join(remote, session), signal);
  } catch (error) {
    exit = { type: 'failed', error: error instanceof Error ? error : new Error(errorMessage(error)) };
  }
  if (signal.aborted) return;
  if (exit.type === 'failed')
    log.warn({ err: exit.error, subresource: command.type }, 'stream to a container broke off');
  await remote.finish(statusOf(command.type, exit));
  // Whatever of the backend's session is left.
  child.abort(new Error('the session is over'));
}

function statusOf(type: RemoteCommand['type'], exit: ExecExit): StreamStatus {
  if (exit.type === 'exited') return type === 'exec' ? exitStatus(exit.code) : successStatus();
  const what = type === 'exec' ? 'error executing command in container' : 'error attaching to container';
  return internalStatus(`${what}: ${exit.error.message}`);
}

async function join(remote: RemoteSession, session: ExecSession): Promise<ExecExit> {
  const outputs = [copyOutput(session.stdout, remote.stdout), copyOutput(session.stderr, remote.stderr)];
  if (session.stdin !== undefined) copyInput(remote.stdin, session.stdin);
  remote.sizes.listen((size) => session.resize(size));
  const exit = await session.exit;
  await Promise.all(outputs);
  return exit;
}

/** Resolves when the source has nothing more. It is read to its end in any case: one that is not holds the command back. */
function copyOutput(source: Readable | undefined, sink: Writable | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (source === undefined || source.destroyed || source.readableEnded) {
      resolve();
      return;
    }
    source.once('end', resolve);
    source.once('close', resolve);
    source.on('error', () => resolve()); // told by the session's exit
    if (sink === undefined || sink.destroyed) {
      source.resume();
      return;
    }
    sink.once('close', () => source.unpipe(sink).resume());
    source.pipe(sink, { end: false });
  });
}

/** The client's end of input is the command's. A command that reads no more must not stop the connection: the rest is dropped. */
function copyInput(source: Readable | undefined, sink: Writable): void {
  sink.on('error', () => {}); // EPIPE of a command that has closed its input is no failure
  if (source === undefined) {
    sink.end();
    return;
  }
  sink.once('close', () => source.unpipe(sink).resume());
  // Without an end when the client resets the stream.
  source.once('close', () => sink.end());
  source.pipe(sink);
}

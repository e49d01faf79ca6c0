import type Docker from 'dockerode';
import { type CallOptions, type ExecExit, ProviderError } from '../contract/index.ts';
import type { Engine } from './engine.ts';
import { statusBehind } from './errors.ts';
import { inspectContainer } from './units.ts';

const FIRST_POLL_MS = 5;
const LAST_POLL_MS = 500;
/** Of a command that went down with its container. */
const KILLED: ExecExit = { type: 'exited', code: 137 };

/** undefined: the engine knows nothing of it any more, as after the removal of its container. */
export async function inspectExec(
  engine: Engine,
  execId: string,
  { signal }: CallOptions,
): Promise<Docker.ExecInspectInfo | undefined> {
  try {
    return await engine.calls.call('inspect a command', { signal }, (abortSignal) =>
      engine.docker.getExec(execId).inspect({ abortSignal }),
    );
  } catch (error) {
    if (statusBehind(error) === 404) return undefined;
    throw error;
  }
}

/**
 * Waits for the end of a command whose output has ended; it may go on for as long as it likes, having closed its output itself.
 * `words`: what the engine wrote in place of the command's output, if it did.
 */
export async function execExit(
  engine: Engine,
  { execId, containerId, words }: { readonly execId: string; readonly containerId: string; readonly words?: string },
  options: CallOptions,
): Promise<ExecExit> {
  for (let delayMs = FIRST_POLL_MS; ; delayMs = Math.min(delayMs * 2, LAST_POLL_MS)) {
    const info = await inspectExec(engine, execId, options);
    if (info === undefined) return KILLED;
    if (!info.Running) return exitOf(info, words);
    // The engine sometimes misses the end of a command whose container died.
    if (delayMs === LAST_POLL_MS && (await inspectContainer(engine, containerId, options))?.State.Running !== true) {
      return KILLED;
    }
    await engine.context.clock.sleep(delayMs, options);
  }
}

/** Of a command that does not run (any more). */
export function exitOf(info: { readonly ExitCode: number | null; readonly Pid: number }, words?: string): ExecExit {
  if (!hasRun(info)) {
    // The runtimes of the kubelet make this an error of the call, not an exit code (streaming.md, 8).
    const message = words ?? `the command could not be started (exit code ${info.ExitCode})`;
    return { type: 'failed', error: new ProviderError('Internal', message, { reason: 'StartError' }) };
  }
  return info.ExitCode === null ? KILLED : { type: 'exited', code: info.ExitCode };
}

/** It has had a process. */
export function hasRun(info: { readonly Pid: number }): boolean {
  return info.Pid > 0;
}

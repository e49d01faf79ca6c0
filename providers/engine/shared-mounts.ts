import { mkdir, mkdtemp, rm, rmdir, writeFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { type CallOptions, isProviderError } from '../contract/index.ts';
import type { HostPaths } from './host-paths.ts';
import { run } from './local-binder.ts';

const SEEN = 'seen';

/**
 * Whether the engine sees what we mount: only then a bind that we have made safely can be handed to it. Tried, not guessed: a file
 * that shows at a path only through a mount of ours has to be there for the engine too. Without the right to mount it is false.
 */
export async function sharesMounts(directory: string, paths: HostPaths, options: CallOptions): Promise<boolean> {
  if (process.getuid?.() !== 0) return false;
  let trial: string | undefined;
  try {
    await mkdir(directory, { recursive: true, mode: 0o700 });
    trial = await mkdtemp(posix.join(directory, 'trial-'));
    const [from, to] = [posix.join(trial, 'from'), posix.join(trial, 'to')];
    await Promise.all([mkdir(from), mkdir(to)]);
    await writeFile(posix.join(from, SEEN), '');
    await run('mount', ['--bind', from, to]);
    try {
      return await paths.holds(to, SEEN, options);
    } finally {
      await run('umount', [to]);
    }
  } catch (error) {
    options.signal.throwIfAborted();
    // The engine could not be asked: that is no answer.
    if (isProviderError(error) && error.outage) throw error;
    return false;
  } finally {
    if (trial !== undefined) await tidy(trial);
  }
}

/** `to` must be empty: what is still mounted there is not deleted through it. */
async function tidy(trial: string): Promise<void> {
  try {
    await rmdir(posix.join(trial, 'to'));
    await rm(trial, { recursive: true });
  } catch {
    // A directory of ours in a directory of ours, with an empty file in it.
  }
}

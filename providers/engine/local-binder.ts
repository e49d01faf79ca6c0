import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { chmod, type FileHandle, mkdir, open, readdir, realpath, rmdir, unlink, writeFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { type PodUid, ProviderError } from '../contract/index.ts';
import type { BindKey, SafeBinder } from './sub-paths.ts';

/** Not in Node's list: a handle that says where something is, and opens nothing. */
const O_PATH = 0o10000000;
const DIRECTORY = O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW;
const ANYTHING = O_PATH | constants.O_NOFOLLOW;

/**
 * Parts of volumes as the kubelet makes them (pkg/volume/util/subpath): links are resolved once, the result must lie in the volume,
 * and is then walked component by component without following any link. What is bound is what the last handle holds, so it does not
 * matter what a container renames meanwhile. For an engine in our own mount namespace, with the right to mount.
 */
export class LocalBinder implements SafeBinder {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async bind(root: string, subPath: string, { podUid, container, attempt, index }: BindKey): Promise<string> {
    await using part = await openPart(root, subPath);
    const target = posix.join(this.#directory, podUid, `${container}.${attempt}.${index}`);
    await this.#clearOlder(posix.dirname(target), container, attempt - 1);
    await this.#clear(target);
    await mkdir(posix.dirname(target), { recursive: true, mode: 0o700 });
    if ((await part.stat()).isDirectory()) await mkdir(target);
    else await writeFile(target, '', { flag: 'wx' });
    await mountHandle(part, target);
    return target;
  }

  /** Unmounts first and removes only what is empty then: nothing behind a mount is ever deleted. */
  async release(podUid: PodUid): Promise<void> {
    const directory = posix.join(this.#directory, podUid);
    for (const name of await namesIn(directory)) await this.#clear(posix.join(directory, name));
    await rmdir(directory).catch(ignoreAbsent);
  }

  /** A container that restarts for ever must not leave a mount each time; the newest dead one may still be looked into. */
  async #clearOlder(directory: string, container: string, attempt: number): Promise<void> {
    for (const name of await namesIn(directory)) {
      const [owner, number] = name.split('.');
      if (owner === container && Number(number) < attempt) await this.#clear(posix.join(directory, name));
    }
  }

  async #clear(target: string): Promise<void> {
    // Fails when nothing is mounted there. What is still mounted afterwards cannot be removed either: the calls below say so.
    await run('umount', [target]).catch(() => {});
    await unlink(target).catch(async (error: unknown) => {
      if (codeOf(error) === 'EISDIR' || codeOf(error) === 'EPERM') await rmdir(target);
      else ignoreAbsent(error);
    });
  }
}

/** A handle on a part of a volume that lies in it for certain. Exported for the test of the race. */
export async function openPart(root: string, subPath: string): Promise<FileHandle> {
  const base = await realpath(root);
  const there = await deepestThere(base, subPath);
  if (there.path !== base && !there.path.startsWith(base === '/' ? base : `${base}/`))
    throw new ProviderError('Internal', `subpath "${there.path}" not within volume path "${base}"`);
  let handle = await open(base, O_PATH | constants.O_DIRECTORY);
  try {
    const { mode } = await handle.stat();
    const known = posix
      .relative(base, there.path)
      .split('/')
      .filter((name) => name !== '');
    for (const [i, name] of known.entries()) {
      const isLast = i === known.length - 1 && there.missing.length === 0;
      handle = await step(handle, name, isLast ? ANYTHING : DIRECTORY);
    }
    if ((await handle.stat()).isSymbolicLink())
      throw new ProviderError('Internal', `subpath "${subPath}" has become a link`);
    for (const name of there.missing) handle = await makeStep(handle, name, mode);
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** How far the path is there, with its links followed, and what is missing below. */
async function deepestThere(
  base: string,
  subPath: string,
): Promise<{ readonly path: string; readonly missing: readonly string[] }> {
  const names = subPath.split('/').filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) throw new ProviderError('InvalidSpec', `subPath "${subPath}" climbs`);
  for (let there = names.length; ; there--) {
    try {
      return { path: await realpath(posix.join(base, ...names.slice(0, there))), missing: names.slice(there) };
    } catch (error) {
      if (codeOf(error) !== 'ENOENT' || there === 0) throw error;
    }
  }
}

/** The handle given is closed when the next one is open. */
async function step(parent: FileHandle, name: string, flags: number): Promise<FileHandle> {
  const next = await open(`/proc/self/fd/${parent.fd}/${name}`, flags);
  await parent.close();
  return next;
}

/** What the kubelet makes has the mode of the volume's root. */
async function makeStep(parent: FileHandle, name: string, mode: number): Promise<FileHandle> {
  await mkdir(`/proc/self/fd/${parent.fd}/${name}`, { mode: 0o700 }).catch((error: unknown) => {
    if (codeOf(error) !== 'EEXIST') throw error;
  });
  const next = await step(parent, name, DIRECTORY);
  await chmod(`/proc/self/fd/${next.fd}`, mode & 0o2777);
  return next;
}

async function mountHandle(handle: FileHandle, target: string): Promise<void> {
  // The kernel follows a link of /proc to exactly what the handle holds; nothing is looked up by name.
  await run('mount', ['--no-canonicalize', '--bind', `/proc/${process.pid}/fd/${handle.fd}`, target]);
}

export function run(command: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { timeout: 10_000 }, (error, _, stderr) => {
      if (error === null) resolve();
      else
        reject(new ProviderError('Internal', `${command} failed: ${stderr.trim() || error.message}`, { cause: error }));
    });
  });
}

async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    ignoreAbsent(error);
    return [];
  }
}

function ignoreAbsent(error: unknown): void {
  if (codeOf(error) !== 'ENOENT') throw error;
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

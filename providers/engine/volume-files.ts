import { posix } from 'node:path';
import type { CallOptions } from '../contract/index.ts';
import type { Engine } from './engine.ts';
import { statusBehind } from './errors.ts';
import { type PathStat, statIn } from './path-stat.ts';
import { readArchive } from './read-archive.ts';
import { VOLUMES_ROOT } from './volume-mounts.ts';

/** An environment file; variables of one container are much smaller. */
const MAX_BYTES = 4 * 1024 * 1024;
/** As many as the kernel follows. */
const MAX_LINKS = 40;

/**
 * A file that containers have written into a volume, through the sandbox that holds it. Links are followed as if the volume were the
 * whole file system. They may change while they are looked at: what could be read then is another volume of the same pod at most.
 */
export async function readVolumeFile(
  engine: Engine,
  sandboxId: string,
  volume: string,
  path: string,
  options: CallOptions,
): Promise<Uint8Array | undefined> {
  const root = `${VOLUMES_ROOT}/${volume}`;
  const resolved = await resolve(engine, sandboxId, root, path, options);
  if (resolved === undefined) return undefined;
  const [entry] = (await readArchive(engine, sandboxId, resolved, MAX_BYTES, options)) ?? [];
  return entry?.type === 'file' ? entry.data : undefined;
}

/** Path of a regular file, or undefined. */
async function resolve(
  engine: Engine,
  sandboxId: string,
  root: string,
  path: string,
  options: CallOptions,
): Promise<string | undefined> {
  let rest = path.split('/');
  let at = '/';
  for (let links = 0; rest.length > 0; ) {
    const [next = '', ...others] = rest;
    rest = others;
    // An absolute path, so that `..` stops at the root of the volume.
    const candidate = posix.join(at, next);
    const found = candidate === '/' ? undefined : await look(engine, sandboxId, `${root}${candidate}`, options);
    if (candidate === '/') at = candidate;
    else if (found === undefined) return undefined;
    else if (found.kind === 'symlink') {
      links++;
      if (links > MAX_LINKS) return undefined;
      const target = await linkTarget(engine, sandboxId, `${root}${candidate}`, options);
      if (target === undefined) return undefined;
      rest = [...target.split('/'), ...rest];
      if (target.startsWith('/')) at = '/';
    } else if (rest.length === 0 || found.kind !== 'directory')
      return rest.length === 0 && found.kind === 'file' ? `${root}${candidate}` : undefined;
    else at = candidate;
  }
  return undefined;
}

/** The engine fails on a link that leads round in a circle. */
async function look(
  engine: Engine,
  sandboxId: string,
  path: string,
  options: CallOptions,
): Promise<PathStat | undefined> {
  try {
    return await statIn(engine, sandboxId, path, options);
  } catch (error) {
    if (statusBehind(error) === 500) return undefined;
    throw error;
  }
}

/** As it is written: what the engine tells of a link without its content is where it leads in the sandbox. */
async function linkTarget(
  engine: Engine,
  sandboxId: string,
  path: string,
  options: CallOptions,
): Promise<string | undefined> {
  const [entry] = (await readArchive(engine, sandboxId, path, MAX_BYTES, options)) ?? [];
  return entry?.type === 'symlink' ? entry.target : undefined;
}

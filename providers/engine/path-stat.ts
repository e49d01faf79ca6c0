import type { CallOptions } from '../contract/index.ts';
import type { Engine } from './engine.ts';
import { statusBehind } from './errors.ts';

export type FileKind = 'directory' | 'file' | 'symlink' | 'socket' | 'charDevice' | 'blockDevice' | 'pipe';

export interface PathStat {
  readonly kind: FileKind;
  /** Of a link: where it leads, as a path in the container. */
  readonly target: string;
}

/** What lies at a path in a container, running or not; a link at its end is not followed. undefined: nothing. */
export async function statIn(
  engine: Engine,
  container: string,
  path: string,
  { signal }: CallOptions,
): Promise<PathStat | undefined> {
  try {
    // dockerode hands over the response, whose headers are the answer.
    const answer: unknown = await engine.calls.call('look at a file', { signal }, () =>
      engine.docker.getContainer(container).infoArchive({ path }),
    );
    return parsePathStat(headerOf(answer));
  } catch (error) {
    if (statusBehind(error) === 404) return undefined;
    throw error;
  }
}

function headerOf(answer: unknown): string {
  const headers = typeof answer === 'object' && answer !== null && 'headers' in answer ? answer.headers : undefined;
  const value =
    typeof headers === 'object' && headers !== null && 'x-docker-container-path-stat' in headers
      ? headers['x-docker-container-path-stat']
      : undefined;
  if (typeof value !== 'string') throw new Error('the engine told nothing of a path');
  return value;
}

/** Bits of Go's os.FileMode, which the engine's answer is made of. */
const MODE_BITS: readonly (readonly [bit: number, kind: FileKind])[] = [
  [31, 'directory'],
  [27, 'symlink'],
  [24, 'socket'],
  [25, 'pipe'],
  [21, 'charDevice'],
  [26, 'blockDevice'],
];

export function parsePathStat(header: string): PathStat {
  const stat: unknown = JSON.parse(Buffer.from(header, 'base64').toString('utf8'));
  if (typeof stat !== 'object' || stat === null || !('mode' in stat) || typeof stat.mode !== 'number')
    throw new Error('the engine told nothing of a path');
  const { mode } = stat;
  const kind = MODE_BITS.find(([bit]) => Math.floor(mode / 2 ** bit) % 2 === 1)?.[1] ?? 'file';
  return { kind, target: 'linkTarget' in stat && typeof stat.linkTarget === 'string' ? stat.linkTarget : '' };
}

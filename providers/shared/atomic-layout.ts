import type { FileEntry } from '../contract/index.ts';
import type { TarEntry } from './tar.ts';

/**
 * The kubelet's layout of a volume made of files (reference 9.3): the files lie in a directory named after the time, `..data`
 * points at it, and each name at the top points through `..data`. Renaming another link over `..data` changes all files at once.
 */

const DATA = '..data';
const NEXT = '..data_tmp';

export interface LayoutOptions {
  /** Directory of the archive that stands for the volume. */
  readonly root: string;
  readonly rootMode: number;
  readonly ownerGid?: number;
  /** Milliseconds since the epoch; names the directory. */
  readonly now: number;
}

/** Everything a volume that has no content yet needs. */
export function initialLayout(files: readonly FileEntry[], options: LayoutOptions): readonly TarEntry[] {
  const stamp = stampOf(options.now);
  const { root } = options;
  return [
    ...rootAndPayload(files, stamp, options),
    link(`${root}/${DATA}`, stamp),
    ...topNames(files).map((name) => link(`${root}/${name}`, `${DATA}/${name}`)),
  ];
}

export type SwapStep =
  | { readonly type: 'rename'; readonly from: string; readonly to: string }
  | { readonly type: 'symlink'; readonly target: string; readonly path: string }
  | { readonly type: 'unlink'; readonly path: string }
  | { readonly type: 'rmdir'; readonly path: string };

export interface LayoutSwap {
  /** Put beside the old content first; no reader sees it yet. */
  readonly entries: readonly TarEntry[];
  /** Then done in this order: the first step is the moment of change, the rest tidies up. Paths are relative to the volume. */
  readonly steps: readonly SwapStep[];
}

/** `present` is what the volume holds now, with paths relative to its root. */
export function swapLayout(
  files: readonly FileEntry[],
  present: readonly TarEntry[],
  options: LayoutOptions,
): LayoutSwap {
  const stamp = unusedStamp(present, options.now);
  const names = new Set(topNames(files));
  const presentLinks = present.filter((entry) => entry.type === 'symlink' && !entry.path.includes('/'));
  const userLinks = presentLinks.filter((entry) => !entry.path.startsWith('..')).map((entry) => entry.path);
  const old = present.filter((entry) => entry.path.startsWith('..') && entry.path !== DATA && entry.path !== NEXT);
  return {
    entries: [...rootAndPayload(files, stamp, options), link(`${options.root}/${NEXT}`, stamp)],
    steps: [
      { type: 'rename', from: NEXT, to: DATA },
      ...[...names]
        .filter((name) => !userLinks.includes(name))
        .map((name): SwapStep => ({ type: 'symlink', target: `${DATA}/${name}`, path: name })),
      ...userLinks.filter((name) => !names.has(name)).map((path): SwapStep => ({ type: 'unlink', path })),
      ...removals(old),
    ],
  };
}

/** Deepest first, so that directories are empty when their turn comes. */
function removals(entries: readonly TarEntry[]): readonly SwapStep[] {
  const depth = (entry: TarEntry): number => entry.path.split('/').length;
  return entries
    .toSorted((a, b) => depth(b) - depth(a))
    .map((entry) => ({ type: entry.type === 'directory' ? 'rmdir' : 'unlink', path: entry.path }));
}

function rootAndPayload(files: readonly FileEntry[], stamp: string, options: LayoutOptions): readonly TarEntry[] {
  const { root, ownerGid } = options;
  const gid = ownerGid ?? 0;
  const directory = (path: string, mode: number): TarEntry => ({
    type: 'directory',
    path,
    // A volume with a group is readable by it, and what is made inside belongs to it (reference 9.11, read-only volumes).
    mode: ownerGid === undefined ? mode : mode | 0o2550,
    gid,
  });
  return [
    directory(root, options.rootMode),
    directory(`${root}/${stamp}`, 0o755),
    ...parents(files).map((path) => directory(`${root}/${stamp}/${path}`, 0o755)),
    ...files.map(
      (file): TarEntry => ({
        type: 'file',
        path: `${root}/${stamp}/${file.path}`,
        mode: ownerGid === undefined ? file.mode : file.mode | 0o440,
        uid: file.uid ?? 0,
        gid,
        data: file.data,
      }),
    ),
  ];
}

function parents(files: readonly FileEntry[]): readonly string[] {
  const found = new Set<string>();
  for (const file of files) {
    const parts = file.path.split('/');
    for (let length = 1; length < parts.length; length++) found.add(parts.slice(0, length).join('/'));
  }
  return [...found].sort();
}

function topNames(files: readonly FileEntry[]): readonly string[] {
  return [...new Set(files.map((file) => file.path.split('/')[0] ?? file.path))];
}

function link(path: string, target: string): TarEntry {
  return { type: 'symlink', path, mode: 0o777, target };
}

/** `..2026_01_02_15_04_05.123000000`, UTC. */
function stampOf(now: number): string {
  const [date = '', time = ''] = new Date(now).toISOString().replace('Z', '').split('T');
  return `..${date.replaceAll('-', '_')}_${time.replaceAll(':', '_')}000000`;
}

function unusedStamp(present: readonly TarEntry[], now: number): string {
  const taken = new Set(present.map((entry) => entry.path));
  let at = now;
  while (taken.has(stampOf(at))) at++;
  return stampOf(at);
}

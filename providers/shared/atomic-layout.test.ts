import { describe, expect, it } from 'vitest';
import type { FileEntry } from '../contract/index.ts';
import { initialLayout, swapLayout } from './atomic-layout.ts';
import type { TarEntry } from './tar.ts';

const at = Date.UTC(2026, 0, 2, 15, 4, 5, 123);
const options = { root: 'token', rootMode: 0o1777, now: at };
const stamp = '..2026_01_02_15_04_05.123000000';

function file(path: string, mode = 0o644): FileEntry {
  return { path, mode, data: Buffer.from(path) };
}

function shape(entries: readonly TarEntry[]): readonly string[] {
  return entries.map((entry) =>
    entry.type === 'symlink' ? `${entry.path} -> ${entry.target}` : `${entry.path} ${entry.mode.toString(8)}`,
  );
}

/** What a volume holds after `entries` were put into it. */
function inside(entries: readonly TarEntry[]): readonly TarEntry[] {
  return entries
    .filter((entry) => entry.path.startsWith('token/'))
    .map((entry) => ({ ...entry, path: entry.path.slice('token/'.length) }));
}

describe('the layout of a files volume', () => {
  it('is the one of the kubelet', () => {
    expect(shape(initialLayout([file('token', 0o600), file('dir/a'), file('dir/b')], options))).toEqual([
      'token 1777',
      `token/${stamp} 755`,
      `token/${stamp}/dir 755`,
      `token/${stamp}/token 600`,
      `token/${stamp}/dir/a 644`,
      `token/${stamp}/dir/b 644`,
      `token/..data -> ${stamp}`,
      'token/token -> ..data/token',
      'token/dir -> ..data/dir',
    ]);
  });

  it('gives a group access to everything, and what is made later to the group', () => {
    const entries = initialLayout([file('token', 0o600)], { ...options, ownerGid: 2000 });
    expect(shape(entries).slice(0, 3)).toEqual(['token 3777', `token/${stamp} 2755`, `token/${stamp}/token 640`]);
    expect(entries.slice(0, 3).map(({ gid }) => gid)).toEqual([2000, 2000, 2000]);
  });

  it('leaves an owner to the file alone', () => {
    const [, directory, token] = initialLayout([{ ...file('token'), uid: 1000 }], options);
    expect([directory?.uid ?? 0, token?.uid]).toEqual([0, 1000]);
  });

  it('changes by one rename, and tidies up afterwards', () => {
    const present = inside(initialLayout([file('same'), file('gone/x')], options));
    const swap = swapLayout([file('same'), file('new')], present, { ...options, now: at + 1000 });
    expect(shape(swap.entries)).toEqual([
      'token 1777',
      'token/..2026_01_02_15_04_06.123000000 755',
      'token/..2026_01_02_15_04_06.123000000/same 644',
      'token/..2026_01_02_15_04_06.123000000/new 644',
      'token/..data_tmp -> ..2026_01_02_15_04_06.123000000',
    ]);
    expect(swap.steps[0]).toEqual({ type: 'rename', from: '..data_tmp', to: '..data' });
    expect(swap.steps.slice(1)).toEqual([
      { type: 'symlink', target: '..data/new', path: 'new' },
      { type: 'unlink', path: 'gone' },
      { type: 'unlink', path: `${stamp}/gone/x` },
      { type: 'rmdir', path: `${stamp}/gone` },
      { type: 'unlink', path: `${stamp}/same` },
      { type: 'rmdir', path: stamp },
    ]);
  });

  it('never writes into the directory that is in use, even when the clock stands still', () => {
    const present = inside(initialLayout([file('a')], options));
    const swap = swapLayout([file('a')], present, options);
    expect(swap.entries.map(({ path }) => path)).not.toContain(`token/${stamp}`);
    expect(swap.steps).toContainEqual({ type: 'rmdir', path: stamp });
  });

  it('takes away what an interrupted change has left', () => {
    const left: TarEntry = { type: 'symlink', path: '..data_tmp', mode: 0o777, target: '..old' };
    const old: TarEntry = { type: 'directory', path: '..old', mode: 0o755 };
    const swap = swapLayout([file('a')], [left, old, ...inside(initialLayout([file('a')], options))], {
      ...options,
      now: at + 1000,
    });
    expect(swap.steps).toContainEqual({ type: 'rmdir', path: '..old' });
    expect(swap.steps).not.toContainEqual({ type: 'unlink', path: '..data_tmp' });
  });
});

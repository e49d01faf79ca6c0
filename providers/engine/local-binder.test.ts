import { chmod, mkdir, mkdtemp, readlink, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { posix } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openPart } from './local-binder.ts';

describe('a part of a volume that containers write to', () => {
  let directory: string;
  let root: string;

  beforeEach(async () => {
    directory = await mkdtemp(posix.join(tmpdir(), 'outrigger-part-'));
    root = posix.join(directory, 'volume');
    await mkdir(root);
    await mkdir(posix.join(directory, 'outside'));
    await writeFile(posix.join(directory, 'secret'), 's');
  });

  afterEach(() => rm(directory, { recursive: true }));

  /** Where the handle is, in the kernel's words, relative to the volume's parent. */
  async function placeOf(subPath: string, from = root): Promise<string> {
    await using handle = await openPart(from, subPath);
    return posix.relative(directory, await readlink(`/proc/self/fd/${handle.fd}`));
  }

  it('is the directory or file that is there', async () => {
    await mkdir(posix.join(root, 'a/b'), { recursive: true });
    await writeFile(posix.join(root, 'a/file'), '');
    expect(await placeOf('a/b')).toBe('volume/a/b');
    expect(await placeOf('a/file')).toBe('volume/a/file');
    expect(await placeOf('.')).toBe('volume');
  });

  it('is made, with the mode of the volume, where it is missing', async () => {
    await chmod(root, 0o770);
    expect(await placeOf('new/er')).toBe('volume/new/er');
    expect((await stat(posix.join(root, 'new/er'))).mode & 0o777).toBe(0o770);
  });

  it('may be behind links that stay in the volume', async () => {
    await mkdir(posix.join(root, 'real'));
    await symlink('real', posix.join(root, 'link'));
    expect(await placeOf('link')).toBe('volume/real');
    expect(await placeOf('link/new')).toBe('volume/real/new');
    await symlink(root, posix.join(directory, 'alias'));
    expect(await placeOf('real', posix.join(directory, 'alias'))).toBe('volume/real');
  });

  it.each([
    ['a relative link', '../outside', 'x'],
    ['an absolute link', '/etc', 'x'],
    ['a link to a file', '../secret', 'x'],
    ['a link in the middle', '..', 'x/outside'],
    ['a missing name behind a link', '../outside', 'x/new'],
  ])('is refused behind %s that leads out', async (_, target, subPath) => {
    await symlink(target, posix.join(root, 'x'));
    await expect(openPart(root, subPath)).rejects.toThrow(/not within volume path/);
  });

  it('is refused where a name climbs or a link leads nowhere', async () => {
    await expect(openPart(root, 'a/../../outside')).rejects.toThrow('climbs');
    await symlink('gone', posix.join(root, 'dangling'));
    await expect(openPart(root, 'dangling')).rejects.toThrow();
    await expect(openPart(root, 'dangling/x')).rejects.toThrow();
  });

  it('stays in the volume while somebody swaps a directory against a link out of it', async () => {
    const [name, spare, link] = ['x', 'spare', 'link'].map((part) => posix.join(root, part));
    if (name === undefined || spare === undefined || link === undefined) throw new Error('no names');
    await mkdir(name);
    await mkdir(posix.join(directory, 'outside/deep'));
    await mkdir(posix.join(name, 'deep'));
    await symlink('../outside', link);
    let swapping = true;
    const swap = async (): Promise<void> => {
      while (swapping) {
        // A try that meets the gap makes the missing directory, as it should; then some of these have nothing to do.
        await rename(name, spare).catch(() => {});
        await rename(link, name).catch(() => {});
        await rename(name, link).catch(() => {});
        await rename(spare, name).catch(() => {});
      }
    };
    const swapper = swap();
    const places = new Set<string>();
    for (let tries = 0; tries < 400; tries++) {
      // Either it finds the directory, or it refuses.
      const place = await placeOf('x/deep').catch(() => 'refused');
      places.add(place.replace('volume/spare', 'volume/x'));
    }
    swapping = false;
    await swapper;
    expect([...places].filter((place) => !['refused', 'volume/x/deep'].includes(place))).toEqual([]);
  });
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ContainerSpec, SecuritySpec } from '../contract/index.ts';
import { seccompText } from './seccomp.ts';

let root = '';
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'seccomp-'));
});
afterEach(() => rm(root, { recursive: true }));

const read = (security: SecuritySpec): Promise<string | undefined> =>
  // Nothing else of a specification is looked at.
  seccompText({ security } as ContainerSpec, root);

it('hands over the text of the profile that a container names', async () => {
  await writeFile(join(root, 'mine.json'), '{\n  "defaultAction": "SCMP_ACT_ALLOW"\n}\n');
  expect(await read({ seccompProfile: { localhost: 'mine.json' } })).toBe('{"defaultAction":"SCMP_ACT_ALLOW"}');
});

it('reads nothing for the other kinds, nor for a privileged container', async () => {
  expect(await read({})).toBeUndefined();
  expect(await read({ seccompProfile: 'RuntimeDefault' })).toBeUndefined();
  expect(await read({ privileged: true, seccompProfile: { localhost: 'none.json' } })).toBeUndefined();
});

it('says which profile is not there, is no profile, or is elsewhere', async () => {
  await writeFile(join(root, 'text'), 'x');
  const failure = (localhost: string): Promise<string> =>
    read({ seccompProfile: { localhost } }).then(
      () => 'read',
      (error: Error) => error.message,
    );
  const missing = join(root, 'a/b.json');
  expect(await failure('a/b.json')).toBe(
    `cannot load seccomp profile "${missing}": open ${missing}: no such file or directory`,
  );
  expect(await failure('text')).toBe(`cannot load seccomp profile "${join(root, 'text')}": it is not JSON`);
  expect(await failure('../x')).toContain('it is outside of the directory');
});

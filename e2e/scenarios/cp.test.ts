import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { streamMatrix } from '../streaming/lanes.ts';

streamMatrix('cp', 'command', ({ test }) => {
  test('copies a tree with links and modes, and a large file, both ways', async (scene, kubectl) => {
    const dir = mkdtempSync(join(tmpdir(), 'outrigger-cp-'));
    try {
      await scene.create('p');
      await scene.ready('p');
      const data = randomBytes(10_000_000);
      mkdirSync(join(dir, 'tree/deep'), { recursive: true });
      writeFileSync(join(dir, 'tree/large'), data);
      writeFileSync(join(dir, 'tree/deep/ü name'), 'small');
      writeFileSync(join(dir, 'tree/tool'), '#!/bin/sh\n');
      chmodSync(join(dir, 'tree/tool'), 0o755);
      symlinkSync('deep/ü name', join(dir, 'tree/link'));
      expect(await kubectl.run(['cp', join(dir, 'tree'), 'p:/tmp/tree'])).toMatchObject({ code: 0 });
      const script = 'cd /tmp/tree; sha256sum <large; readlink link; cat link; test -x tool && echo executable';
      const there = await kubectl.run(['exec', 'p', '--', 'sh', '-c', script]);
      const sha256 = createHash('sha256').update(data).digest('hex');
      expect(there.stdout.toString()).toBe(`${sha256}  -\ndeep/ü name\nsmallexecutable\n`);
      // From a container, kubectl copies contents only: no links, no modes.
      expect(await kubectl.run(['cp', 'p:/tmp/tree', join(dir, 'back')])).toMatchObject({ code: 0 });
      expect(readFileSync(join(dir, 'back/large')).equals(data)).toBe(true);
      expect(readFileSync(join(dir, 'back/deep/ü name'), 'utf8')).toBe('small');
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});

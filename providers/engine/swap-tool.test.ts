import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mapArch } from '../shared/arch.ts';
import type { SwapStep } from '../shared/atomic-layout.ts';
import { swapArguments, swapTool } from './swap-tool.ts';

const arch = mapArch({ x64: 'x86_64', arm64: 'aarch64' }[process.arch as string] ?? process.arch);
const runsHere = process.platform === 'linux' && (arch === 'amd64' || arch === 'arm64');

describe('the swap tool', () => {
  it('exists for the machines that Kubernetes is mostly run on, and says so elsewhere', () => {
    expect(() => swapTool('s390x')).toThrow('s390x');
    for (const each of ['amd64', 'arm64']) expect(swapTool(each).length).toBeLessThan(300);
  });

  describe.runIf(runsHere)('run on this machine', () => {
    let dir = '';
    const swap = (steps: readonly SwapStep[]) => {
      const tool = join(dir, '..tool');
      writeFileSync(tool, swapTool(arch));
      chmodSync(tool, 0o755);
      const { status } = spawnSync(tool, swapArguments(steps), { cwd: join(dir, 'v') });
      return status;
    };

    beforeEach(() => {
      dir = mkdtempSync(join(tmpdir(), 'outrigger-swap-'));
      mkdirSync(join(dir, 'v/..old/sub'), { recursive: true });
      mkdirSync(join(dir, 'v/..new'));
      writeFileSync(join(dir, 'v/..old/sub/x'), '');
      symlinkSync('..old', join(dir, 'v/..data'));
      symlinkSync('..new', join(dir, 'v/..data_tmp'));
      symlinkSync('..data/gone', join(dir, 'v/gone'));
    });

    afterEach(() => rmSync(dir, { recursive: true }));

    it('renames, links and removes in order', () => {
      const code = swap([
        { type: 'rename', from: '..data_tmp', to: '..data' },
        { type: 'symlink', target: '..data/a', path: 'a' },
        { type: 'unlink', path: 'gone' },
        { type: 'unlink', path: '..old/sub/x' },
        { type: 'rmdir', path: '..old/sub' },
        { type: 'rmdir', path: '..old' },
      ]);
      expect(code).toBe(0);
      expect(readdirSync(join(dir, 'v')).sort()).toEqual(['..data', '..new', 'a']);
      expect(readlinkSync(join(dir, 'v/..data'))).toBe('..new');
      expect(readlinkSync(join(dir, 'v/a'))).toBe('..data/a');
    });

    it('minds neither a link that is there nor a file that is not', () => {
      const code = swap([
        { type: 'symlink', target: 'x', path: 'gone' },
        { type: 'unlink', path: 'nothing' },
        { type: 'rmdir', path: 'nothing' },
      ]);
      expect(code).toBe(0);
    });

    it('ends with the errno of a rename that failed, before anything is removed', () => {
      const ENOENT = 2;
      const code = swap([
        { type: 'rename', from: 'nothing', to: '..data' },
        { type: 'unlink', path: 'gone' },
      ]);
      expect(code).toBe(ENOENT);
      expect(readdirSync(join(dir, 'v'))).toContain('gone');
    });
  });
});

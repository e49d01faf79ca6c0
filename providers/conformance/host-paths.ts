import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { type ContainerProvider, isProviderError, type SandboxSpec, type VolumeSpec } from '../contract/index.ts';
import { type Case, type Excuse, needsShellAndLogs } from './case.ts';
import type { World } from './world.ts';

const needsHostPaths: Excuse = (provider, harness) =>
  provider.traits.volumes.has('hostPath') ? needsShellAndLogs(provider, harness) : 'no hostPath volumes';

function hostPath(name: string, path: string, type = ''): VolumeSpec {
  return { kind: 'hostPath', name, path, type };
}

/** A directory of the host that is gone afterwards, however the case ends. */
async function inDirectory(
  provider: ContainerProvider,
  world: World,
  use: (directory: string) => Promise<void>,
): Promise<void> {
  const name = `outrigger-conformance-${randomUUID()}`;
  try {
    await use(`/tmp/${name}`);
  } finally {
    const sandbox = await world.ready(provider, { volumes: [hostPath('tmp', '/tmp', 'Directory')] });
    const mounts = [{ volume: 'tmp', path: '/tmp', readOnly: false }];
    await world.runToEnd(provider, sandbox, world.shell(`rm -rf /tmp/${name}`, { mounts }));
  }
}

async function lines(
  provider: ContainerProvider,
  world: World,
  sandbox: SandboxSpec,
  script: string,
): Promise<string[]> {
  const mounts = sandbox.volumes.map(({ name }) => ({ volume: name, path: `/${name}`, readOnly: false }));
  return (await world.runToEnd(provider, sandbox, world.shell(script, { mounts }))).output;
}

export const hostPaths: readonly Case<ContainerProvider>[] = [
  {
    // As the oracle's case 088-hostpath-types has it of a kubelet.
    name: 'makes the directories and files of its host that a pod wants to be there',
    unless: needsHostPaths,
    run: (provider, world) =>
      inDirectory(provider, world, async (directory) => {
        const volumes = [
          hostPath('dc', `${directory}/deep/dir`, 'DirectoryOrCreate'),
          hostPath('fc', `${directory}/deep/file`, 'FileOrCreate'),
          hostPath('unset', `${directory}/unset`),
          hostPath('device', '/dev/null', 'CharDevice'),
        ];
        const script = `stat -c '%n %F %a' /dc /fc /unset; stat -c %F /device; echo kept > /fc`;
        const sandbox = await world.ready(provider, { volumes });
        expect(await lines(provider, world, sandbox, script)).toEqual([
          '/dc directory 755',
          '/fc regular empty file 644',
          '/unset directory 755',
          'character special file',
        ]);
        const again = await world.ready(provider, { volumes });
        expect(await lines(provider, world, again, 'cat /fc'), 'what is there stays').toEqual(['kept']);
      }),
  },
  {
    name: 'tells of every path of its host that is not what a pod wants, in the words of the kubelet',
    unless: needsHostPaths,
    run: async (provider, world) => {
      const absent = `/tmp/outrigger-absent-${randomUUID()}`;
      const volumes = [
        hostPath('absent', absent, 'Directory'),
        hostPath('dir', '/tmp', 'File'),
        hostPath('dir-too', '/tmp', 'FileOrCreate'),
        hostPath('file', '/etc/passwd', 'Socket'),
        hostPath('no-parent', `${absent}/file`, 'FileOrCreate'),
        hostPath('fine', '/tmp', 'Directory'),
      ];
      const failed = await world.ready(provider, { volumes }).catch((error: unknown) => error);
      if (!isProviderError(failed)) throw new Error('not refused');
      expect(failed.permanent, 'it may come').toBe(false);
      expect(failed.volumes).toEqual([
        { volume: 'absent', message: `hostPath type check failed: ${absent} is not a directory` },
        { volume: 'dir', message: 'hostPath type check failed: /tmp is not a file' },
        { volume: 'dir-too', message: 'hostPath type check failed: /tmp is not a file' },
        { volume: 'file', message: 'hostPath type check failed: /etc/passwd is not a socket file' },
        { volume: 'no-parent', message: `open ${absent}/file: no such file or directory` },
      ]);
    },
  },
];

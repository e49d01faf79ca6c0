import { expect } from 'vitest';
import type { ContainerProvider, FileEntry, VolumeSpec } from '../contract/index.ts';
import { type Case, type Excuse, needsShellAndLogs } from './case.ts';
import { refOf } from './world.ts';

type FilesVolume = Extract<VolumeSpec, { kind: 'files' }>;

function files(entries: Readonly<Record<string, string>>, overrides: Partial<FilesVolume> = {}): FilesVolume {
  const list = Object.entries(entries).map(([path, text]) => file(path, text));
  return { kind: 'files', name: 'config', files: list, revision: '1', medium: 'disk', ...overrides };
}

function file(path: string, text: string, mode = 0o644): FileEntry {
  return { path, mode, data: new TextEncoder().encode(text) };
}

function needs(kind: VolumeSpec['kind'], and: Excuse = needsShellAndLogs): Excuse {
  return (provider, harness) => (provider.traits.volumes.has(kind) ? and(provider, harness) : `no ${kind} volumes`);
}

const READ_ONLY = [{ volume: 'config', path: '/etc/config', readOnly: true }];

export const containerVolumes: readonly Case<ContainerProvider>[] = [
  {
    name: 'fills files volumes before the first container starts, folders and modes included',
    unless: needs('files'),
    run: async (provider, world) => {
      const volume = files({}, { files: [file('a.txt', 'alpha\n'), file('deep/er/b.txt', 'beta\n', 0o400)] });
      const sandbox = await world.ready(provider, { volumes: [volume] });
      const script = 'cd /etc/config; cat a.txt deep/er/b.txt; stat -L -c "%a %u %g" a.txt deep/er/b.txt';
      const { output } = await world.runToEnd(provider, sandbox, world.shell(script, { mounts: READ_ONLY }));
      expect(output).toEqual(['alpha', 'beta', '644 0 0', '400 0 0']);
    },
  },
  {
    name: 'gives files to the owner asked for',
    unless: needs('files'),
    run: async (provider, world) => {
      const volume = files({}, { files: [{ ...file('token', 'secret\n', 0o600), uid: 1234 }], medium: 'memory' });
      const sandbox = await world.ready(provider, { volumes: [volume] });
      const spec = world.shell('cat /etc/config/token', { mounts: READ_ONLY, security: { runAsUser: 1234 } });
      const { output } = await world.runToEnd(provider, sandbox, spec);
      expect(output).toEqual(['secret']);
    },
  },
  {
    name: 'gives files and their folders to the group of the volume',
    unless: needs('files'),
    run: async (provider, world) => {
      const volume = files({}, { files: [file('a', 'x', 0o640)], ownerGid: 4321 });
      const sandbox = await world.ready(provider, { volumes: [volume] });
      const spec = world.shell('stat -L -c %g /etc/config/a', { mounts: READ_ONLY });
      expect((await world.runToEnd(provider, sandbox, spec)).output).toEqual(['4321']);
    },
  },
  {
    name: 'keeps bytes that are no text',
    unless: needs('files'),
    run: async (provider, world) => {
      const data = Uint8Array.from({ length: 256 }, (_, index) => index);
      const volume = files({}, { files: [{ path: 'all', mode: 0o644, data }] });
      const sandbox = await world.ready(provider, { volumes: [volume] });
      const spec = world.shell('od -An -v -tu1 /etc/config/all', { mounts: READ_ONLY });
      const { output } = await world.runToEnd(provider, sandbox, spec);
      expect(output.join(' ').trim().split(/\s+/).map(Number)).toEqual([...data]);
    },
  },
  {
    name: 'keeps memory volumes off the disk',
    unless: needs('files'),
    run: async (provider, world) => {
      const sandbox = await world.ready(provider, {
        volumes: [files({ a: 'x' }, { medium: 'memory' }), { kind: 'emptyDir', name: 'scratch', medium: 'memory' }],
      });
      const spec = world.shell(`awk '$2 == "/etc/config" || $2 == "/scratch" { print $2, $3 }' /proc/mounts | sort`, {
        mounts: [...READ_ONLY, { volume: 'scratch', path: '/scratch', readOnly: false }],
      });
      const { output } = await world.runToEnd(provider, sandbox, spec);
      expect(output).toEqual(['/etc/config tmpfs', '/scratch tmpfs']);
    },
  },
  {
    name: 'refuses writing to a volume that is mounted read-only',
    unless: needs('emptyDir'),
    run: async (provider, world) => {
      const sandbox = await world.ready(provider, { volumes: [{ kind: 'emptyDir', name: 'data', medium: 'disk' }] });
      const spec = world.shell('touch /data/x 2>/dev/null && echo written || echo refused', {
        mounts: [{ volume: 'data', path: '/data', readOnly: true }],
      });
      expect((await world.runToEnd(provider, sandbox, spec)).output).toEqual(['refused']);
    },
  },
  ...(['disk', 'memory'] as const).map(
    (medium): Case<ContainerProvider> => ({
      name: `shares an emptyDir on ${medium} between containers and across restarts, writable by everybody`,
      unless: needs('emptyDir'),
      run: async (provider, world) => {
        const sandbox = await world.ready(provider, { volumes: [{ kind: 'emptyDir', name: 'data', medium }] });
        const mounts = [{ volume: 'data', path: '/data', readOnly: false }];
        // Keeps the volume in use, as a tmpfs may live only as long as its last user.
        await provider.startContainer(sandbox, world.container({ name: 'holder', mounts }), world.options);
        const write = world.shell('echo written > /data/file', { mounts, security: { runAsUser: 1234 } });
        expect((await world.runToEnd(provider, sandbox, write)).state.exitCode).toBe(0);
        const read = world.shell('cat /data/file', { mounts, attempt: 1 });
        expect((await world.runToEnd(provider, sandbox, read)).output).toEqual(['written']);
      },
    }),
  ),
  {
    name: 'keeps an emptyDir while no container runs',
    unless: needs('emptyDir'),
    run: async (provider, world) => {
      const volumes: VolumeSpec[] = [
        { kind: 'emptyDir', name: 'disk', medium: 'disk' },
        { kind: 'emptyDir', name: 'memory', medium: 'memory' },
      ];
      const sandbox = await world.ready(provider, { volumes });
      const mounts = volumes.map(({ name }) => ({ volume: name, path: `/${name}`, readOnly: false }));
      await world.runToEnd(provider, sandbox, world.shell('echo d > /disk/f; echo m > /memory/f', { mounts }));
      const read = world.shell('cat /disk/f /memory/f', { mounts, attempt: 1 });
      expect((await world.runToEnd(provider, sandbox, read)).output).toEqual(['d', 'm']);
    },
  },
  {
    name: 'gives each pod volumes of its own, even under one name',
    unless: needs('emptyDir'),
    run: async (provider, world) => {
      const mounts = [{ volume: 'data', path: '/data', readOnly: false }];
      const outputs: string[][] = [];
      for (let i = 0; i < 2; i++) {
        const sandbox = await world.ready(provider, { volumes: [{ kind: 'emptyDir', name: 'data', medium: 'disk' }] });
        const spec = world.shell('ls -A /data; touch /data/mine', { mounts });
        outputs.push((await world.runToEnd(provider, sandbox, spec)).output);
      }
      expect(outputs).toEqual([[], []]);
    },
  },
  ...(['disk', 'memory'] as const).map(
    (medium): Case<ContainerProvider> => ({
      name: `gives an emptyDir on ${medium} to the group asked for, and what is made inside`,
      unless: (provider, harness) => (provider.traits.fsGroup ? needs('emptyDir')(provider, harness) : 'no fsGroup'),
      run: async (provider, world) => {
        const sandbox = await world.ready(provider, {
          volumes: [{ kind: 'emptyDir', name: 'data', medium, ownerGid: 4321 }],
        });
        const spec = world.shell('cd /data; touch f; mkdir d; stat -c "%n %a %u:%g" . d; stat -c "%n %u:%g" f', {
          mounts: [{ volume: 'data', path: '/data', readOnly: false }],
          security: { runAsUser: 1234, supplementalGroups: [4321] },
        });
        const { output } = await world.runToEnd(provider, sandbox, spec);
        expect(output).toEqual([`. ${medium === 'disk' ? 2777 : 3777} 0:4321`, 'd 2755 1234:4321', 'f 1234:4321']);
      },
    }),
  ),
  ...(['disk', 'memory'] as const).map(
    (medium): Case<ContainerProvider> => ({
      name: `mounts a part of an emptyDir on ${medium}, made where it is missing, never what a link inside names outside`,
      unless: (provider, harness) =>
        provider.traits.subPaths === 'all'
          ? needs('emptyDir')(provider, harness)
          : 'no subPath of what containers write',
      run: async (provider, world) => {
        const sandbox = await world.ready(provider, { volumes: [{ kind: 'emptyDir', name: 'data', medium }] });
        const whole = { volume: 'data', path: '/data', readOnly: false };
        const part = { ...whole, path: '/part', subPath: 'deep/er' };
        const write = world.shell('echo here > /part/file; ln -s /etc /data/out; cat /data/deep/er/file', {
          mounts: [part, whole],
        });
        expect((await world.runToEnd(provider, sandbox, write)).output).toEqual(['here']);
        const file = { ...whole, path: '/file', subPath: 'deep/er/file' };
        const read = world.shell('cat /file; cat /part/file', { name: 'read', mounts: [file, part] });
        expect((await world.runToEnd(provider, sandbox, read)).output).toEqual(['here', 'here']);
        const out = world.shell('ls /out', { name: 'out', mounts: [{ ...whole, path: '/out', subPath: 'out' }] });
        await expect(provider.startContainer(sandbox, out, world.options)).rejects.toMatchObject({
          reason: 'CreateContainerConfigError',
          message: 'failed to prepare subPath for volumeMount "data" of container "out"',
        });
      },
    }),
  ),
  {
    name: 'mounts one path of a volume where subPath asks for it',
    unless: (provider, harness) =>
      provider.traits.subPaths === 'none' ? 'no subPath' : needs('files')(provider, harness),
    run: async (provider, world) => {
      const sandbox = await world.ready(provider, { volumes: [files({ 'a.txt': 'alpha\n', 'b.txt': 'beta\n' })] });
      const spec = world.shell('cat /etc/only.txt', {
        mounts: [{ volume: 'config', path: '/etc/only.txt', subPath: 'b.txt', readOnly: true }],
      });
      expect((await world.runToEnd(provider, sandbox, spec)).output).toEqual(['beta']);
    },
  },
  ...(['disk', 'memory'] as const).map(
    (medium): Case<ContainerProvider> => ({
      name: `replaces the files of a running pod on ${medium}, all at once`,
      unless: (provider, harness) =>
        provider.updateFiles === undefined ? 'no updateFiles' : needs('files')(provider, harness),
      run: async (provider, world) => {
        const old = files({ a: 'old\n', b: 'old\n', gone: 'x\n' }, { medium });
        const sandbox = await world.ready(provider, { volumes: [old] });
        // Each file is opened by itself, so an update may come in between: old then new is right, new then old never.
        const script = `cd /etc/config; while true; do echo "$(cat a b a 2>&1 | tr -d '\\n') $(echo *)"; sleep 0.05; done`;
        const spec = world.shell(script, { mounts: READ_ONLY });
        const ref = refOf(sandbox, spec);
        await provider.startContainer(sandbox, spec, world.options);
        await world.eventually(
          'the old files',
          () => world.output(provider, ref),
          (lines) => lines.length > 0,
        );
        const fresh = files({ a: 'new\n', b: 'new\n', more: 'x\n' }, { medium, revision: '2' });
        await provider.updateFiles?.(sandbox.pod.uid, fresh, world.options);
        const lines = await world.eventually(
          'the new files',
          () => world.output(provider, ref),
          (seen) => seen.at(-1)?.startsWith('newnewnew') === true,
        );
        expect(lines[0]).toBe('oldoldold a b gone');
        expect(lines.at(-1)).toBe('newnewnew a b more');
        expect(lines.filter((line) => !/^(old)*(new)* a b (gone|more)$/.test(line))).toEqual([]);
        // A container started later sees the new set too.
        const later = world.shell('cat /etc/config/a', { name: 'later', mounts: READ_ONLY });
        expect((await world.runToEnd(provider, sandbox, later)).output).toEqual(['new']);
      },
    }),
  ),
];

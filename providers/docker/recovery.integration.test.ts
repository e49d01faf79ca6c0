import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { VolumeSpec } from '../contract/index.ts';
import { BUSYBOX, EngineNode, refOf } from './testing/engine-node.ts';

type FilesVolume = Extract<VolumeSpec, { kind: 'files' }>;

function files(medium: 'disk' | 'memory', content: string): FilesVolume {
  const entry = { path: 'f', mode: 0o644, data: Buffer.from(content) };
  return { kind: 'files', name: 'content', medium, revision: content, files: [entry] };
}

const mounts = [
  { volume: 'content', path: '/content', readOnly: true },
  { volume: 'scratch', path: '/scratch', readOnly: false },
];

describe('what a crash leaves on an engine', () => {
  let node: EngineNode;
  beforeEach(() => {
    node = new EngineNode(inject('testBed').socket);
  });
  afterEach(() => node.dispose());

  it('is not a ready pod while its volumes may not be filled, and is made good by the next call', async () => {
    const provider = await node.open();
    const pod = node.sandbox({ volumes: [files('memory', 'whole')] });
    await provider.ensureSandbox(pod, node.options);
    const { name, uid } = pod.pod;
    // As it is between its start and the filling.
    const sandbox = node.docker.getContainer(`outrigger_POD_${name}_${uid}_0`);
    await sandbox.rename({ name: `outrigger_PREPARE_${name}_${uid}_0` });
    const restarted = await node.open();
    expect((await restarted.inspect(uid, node.options))?.state).toBe('pending');
    await restarted.ensureSandbox(pod, node.options);
    expect((await restarted.inspect(uid, node.options))?.state).toBe('ready');
    const spec = node.shell('cat /content/f', { mounts: mounts.slice(0, 1) });
    expect(await node.run(restarted, pod, spec)).toBe('whole');
  });

  it('is found and removed when only volumes are left of a pod', async () => {
    const provider = await node.open();
    const pod = node.sandbox({ volumes: [{ kind: 'emptyDir', name: 'scratch', medium: 'disk' }] });
    await provider.ensureSandbox(pod, node.options);
    await node.docker.getContainer(`outrigger_POD_${pod.pod.name}_${pod.pod.uid}_0`).remove({ force: true });
    const [left] = await provider.list(node.options);
    expect(left).toMatchObject({ pod: pod.pod, state: 'pending', containers: [] });
    await provider.removeSandbox(pod.pod.uid, node.options);
    expect(await provider.list(node.options)).toEqual([]);
  });

  it('keeps a failed start apart from a start that did not happen', async () => {
    const provider = await node.open();
    const pod = node.sandbox();
    await provider.ensureSandbox(pod, node.options);
    const spec = node.shell('', { command: ['/no/such/program'] });
    const failure = { code: 'Internal', reason: 'StartError', message: expect.stringContaining('/no/such/program') };
    await expect(provider.startContainer(pod, spec, node.options)).rejects.toMatchObject(failure);
    const restarted = await node.open();
    const seen = await restarted.inspect(pod.pod.uid, node.options);
    expect(seen?.containers[0]?.state).toMatchObject({
      status: 'exited',
      exitCode: 128,
      reason: 'StartError',
      startedAt: new Date(0),
      message: expect.stringContaining('/no/such/program'),
    });
    await expect(restarted.startContainer(pod, spec, node.options)).rejects.toMatchObject(failure);
  });

  it.each(['disk', 'memory'] as const)('is a new sandbox with the old emptyDir and new files on %s', async (medium) => {
    const provider = await node.open();
    const scratch = { kind: 'emptyDir', name: 'scratch', medium: 'disk' } as const;
    const pod = node.sandbox({ volumes: [files(medium, 'old'), scratch] });
    await provider.ensureSandbox(pod, node.options);
    const write = node.shell('cat /content/f > /scratch/seen', { mounts });
    await node.run(provider, pod, write);
    await node.docker.getContainer(`outrigger_POD_${pod.pod.name}_${pod.pod.uid}_0`).kill();
    const next = { ...pod, attempt: 1, volumes: [files(medium, 'new'), scratch] };
    expect((await provider.inspect(pod.pod.uid, node.options))?.state).toBe('stopped');
    await provider.ensureSandbox(next, node.options);
    expect(await provider.inspect(pod.pod.uid, node.options)).toMatchObject({ attempt: 1, state: 'ready' });
    const read = node.shell('cat /scratch/seen /content/f; ls -A /content', { attempt: 1, mounts });
    expect(await node.run(provider, next, read)).toMatch(/^oldnew\.\.2\S+\n\.\.data\nf\n$/);
    const left = await node.docker.listContainers({ all: true, filters: { label: [`outrigger/node=${node.name}`] } });
    expect(left).toHaveLength(3);
  });

  it('never touches a container that is not ours, even under our name', async () => {
    const provider = await node.open();
    const pod = node.sandbox();
    const name = `outrigger_PREPARE_${pod.pod.name}_${pod.pod.uid}_0`;
    const foreign = await node.docker.createContainer({ name, Image: BUSYBOX });
    try {
      await expect(provider.ensureSandbox(pod, node.options)).rejects.toMatchObject({ code: 'AlreadyExists' });
      await expect(foreign.inspect()).resolves.toMatchObject({ Id: foreign.id });
    } finally {
      await foreign.remove({ force: true });
    }
  });

  it('refuses a container whose sandbox is not there, and leaves no trace of it', async () => {
    const provider = await node.open();
    const pod = node.sandbox();
    await provider.ensureSandbox(pod, node.options);
    await provider.stopSandbox(pod.pod.uid, node.options);
    await expect(provider.startContainer(pod, node.shell('true'), node.options)).rejects.toMatchObject({
      reason: 'SandboxNotReady',
    });
    expect((await provider.inspect(pod.pod.uid, node.options))?.containers).toEqual([]);
  });

  it('gives the core its own labels back, not those of the image, and obeys the stop signal of the image', async () => {
    const base = await node.docker.createContainer({
      Image: BUSYBOX,
      Labels: { 'io.kubernetes.pod.uid': 'stolen', vendor: 'x' },
      StopSignal: 'SIGUSR1',
    });
    const repo = `localhost/${node.name}`;
    await base.commit({ repo, tag: '1' });
    await base.remove();
    const provider = await node.open();
    const pod = node.sandbox();
    try {
      await provider.ensureSandbox(pod, node.options);
      const script = 'trap "echo usr1; exit 7" USR1; echo up; while :; do sleep 0.1; done';
      const spec = node.shell(script, { image: `${repo}:1`, labels: { mine: '1' } });
      await provider.startContainer(pod, spec, node.options);
      const ref = refOf(pod, spec);
      const seen = await node.until(provider, ref, (container) => container?.state.status === 'running');
      expect(seen?.labels).toEqual({ mine: '1', ...node.context.ownerLabels });
      for await (const record of provider.logs?.logs(ref, { follow: true }, node.options) ?? []) {
        if (Buffer.from(record.line).toString() === 'up')
          await provider.stopContainer(ref, { graceSeconds: 5 }, node.options);
      }
      const end = await node.until(provider, ref, (container) => container?.state.status === 'exited');
      expect(end?.state).toMatchObject({ exitCode: 7 });
    } finally {
      await provider.removeSandbox(pod.pod.uid, node.options);
      await node.docker.getImage(`${repo}:1`).remove();
    }
  });
});

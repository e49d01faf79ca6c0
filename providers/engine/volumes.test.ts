import { PassThrough } from 'node:stream';
import type Docker from 'dockerode';
import { expect, it } from 'vitest';
import { FakeClock, settle } from '../../src/testing/fake-clock.ts';
import { EngineCalls } from './calls.ts';
import { HeldVolumes } from './held-volumes.ts';
import { PodVolumes } from './volumes.ts';

const VOLUME = { kind: 'files', name: 'v', files: [], revision: '1', medium: 'memory' } as const;

function volumesReading(archive: PassThrough, signal: AbortSignal): PodVolumes {
  const clock = new FakeClock();
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const context = { nodeName: 'n', ownerLabels: {}, log, clock, signal };
  // Stands for the one call of the client that is made here.
  const docker = { getContainer: () => ({ getArchive: async () => archive }) } as unknown as Docker;
  return new PodVolumes({ docker, calls: new EngineCalls(clock, 30_000), context }, new HeldVolumes(clock));
}

it('an update that is called off while the old content is read ends with an abort error', async () => {
  const caller = new AbortController();
  const { signal } = caller;
  const update = volumesReading(new PassThrough(), signal).update('s', VOLUME, { signal });
  const failed = expect(update).rejects.toMatchObject({ name: 'AbortError' });
  await settle();
  caller.abort();
  await failed;
});

it('an archive that breaks off is an engine that could not be asked', async () => {
  const { signal } = new AbortController();
  const archive = new PassThrough();
  const update = volumesReading(archive, signal).update('s', VOLUME, { signal });
  const failed = expect(update).rejects.toMatchObject({ code: 'Unavailable' });
  await settle();
  archive.destroy(new Error('socket hang up'));
  await failed;
});

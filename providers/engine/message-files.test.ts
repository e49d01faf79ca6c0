import type Docker from 'dockerode';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import type { ContainerRef, ContainerSpec, PodUid } from '../contract/index.ts';
import { readTar } from '../shared/tar.ts';
import { makeContainerSpec } from '../shared/testing/specs.ts';
import { EngineCalls } from './calls.ts';
import { emptyMessageFile, messageMounts } from './message-files.ts';

const HELD = [{ Destination: '/outrigger/network', Source: '/data/volumes/v/_data' }];

function container(overrides: Partial<ContainerSpec> = {}): ContainerSpec {
  return makeContainerSpec({ attempt: 2, terminationMessagePath: '/dev/termination-log', ...overrides });
}

describe('the message file of a container', () => {
  it('is one of the files of its pod, of this incarnation only', () => {
    expect(messageMounts(container(), HELD)).toEqual([
      {
        Type: 'bind',
        Source: '/data/volumes/v/_data/messages/c_2',
        Target: '/dev/termination-log',
        ReadOnly: false,
      },
    ]);
  });

  it('lies under the root, however its path is written', () => {
    const targets = ['tmp/x', '/tmp/x/', '/tmp//./x'].map(
      (terminationMessagePath) => messageMounts(container({ terminationMessagePath }), HELD)[0]?.Target,
    );
    expect(targets).toEqual(['/tmp/x', '/tmp/x', '/tmp/x']);
  });

  it('is not there where the container mounts something itself, wants none, or has a sandbox of an earlier version', () => {
    const mounts = [{ volume: 'v', path: '/dev/termination-log/', readOnly: false }];
    expect(messageMounts(container({ mounts }), HELD)).toEqual([]);
    expect(messageMounts(container({ terminationMessagePath: '' }), HELD)).toEqual([]);
    expect(messageMounts(container(), [])).toEqual([]);
  });
});

describe('the message file of a removed container', () => {
  const { signal } = new AbortController();
  const ref: ContainerRef = { podUid: 'u' as PodUid, container: 'c', attempt: 2 }; // the brand is a compile-time mark only
  const mounts = [{ Source: '/data/messages/c_2' }];

  function engineThat(putArchive: (tar: Buffer) => Promise<void>) {
    const docker = {
      listContainers: async () => [{ Id: 'sandbox' }],
      getContainer: () => ({ putArchive }),
    } as unknown as Docker; // stands for the calls of the client that are made here
    const clock = new FakeClock();
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const context = { nodeName: 'n', ownerLabels: {}, log, clock, signal };
    return { docker, calls: new EngineCalls(clock, 30_000), context };
  }

  it('is emptied', async () => {
    const written: Buffer[] = [];
    const engine = engineThat(async (tar) => void written.push(tar));
    await emptyMessageFile(engine, ref, mounts, { signal });
    expect(written.flatMap(readTar).filter(({ type }) => type === 'file')).toMatchObject([
      { path: 'messages/c_2', mode: 0o666, data: Buffer.alloc(0) },
    ]);
  });

  it('is left to the end of the pod where that fails, and where the container had none', async () => {
    let asked = 0;
    const engine = engineThat(async () => {
      asked++;
      throw Object.assign(new Error('read-only'), { statusCode: 500 });
    });
    await emptyMessageFile(engine, ref, mounts, { signal });
    await emptyMessageFile(engine, ref, [{ Source: '/somewhere' }], { signal });
    expect(asked).toBe(1);
  });
});

import { describe, expect, it } from 'vitest';
import type { ContainerSpec } from '../contract/index.ts';
import { messageMounts } from './message-files.ts';

const HELD = [{ Destination: '/outrigger/network', Source: '/data/volumes/v/_data' }];

function container(overrides: Partial<ContainerSpec> = {}): ContainerSpec {
  return {
    name: 'c',
    attempt: 2,
    role: 'main',
    image: 'i',
    env: [],
    mounts: [],
    resources: {},
    security: {},
    terminal: { tty: false, stdin: false, stdinOnce: false },
    terminationMessagePath: '/dev/termination-log',
    labels: {},
    ...overrides,
  };
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

import { describe, expect, it } from 'vitest';
import type { Node } from '../model/pod.ts';
import { HOST } from '../testing/fake-node-objects.ts';
import { changedStatus, nodeStatus, type StatusInput } from './status.ts';

const INPUT: StatusInput = {
  settings: {
    name: 'n1',
    nodeIPs: [],
    podsPerCore: 0,
    reserved: { cpuMilli: 0, memoryBytes: 0, ephemeralBytes: 0 },
  },
  productVersion: '0.1.0',
  kubeletPort: 10250,
  maxImages: 50,
  host: HOST,
  images: [{ names: ['a:1'], sizeBytes: 1 }],
  declaredFeatures: ['ExtendWebSocketsToKubelet'],
  problems: [],
  now: Date.parse('2026-01-02T03:04:05Z'),
};

function nodeWith(status: NonNullable<Node['status']>): Node {
  return { metadata: { name: 'n1', uid: 'u' }, status };
}

describe('what of the status is written', () => {
  it('nothing when only heartbeat times differ, or when the server has more than we say', () => {
    const before = nodeStatus(undefined, INPUT);
    const { nodeInfo } = before;
    if (nodeInfo === undefined) throw new Error('no nodeInfo');
    const served = nodeWith({
      ...before,
      nodeInfo: { ...nodeInfo, swap: { capacity: 5 } },
      conditions: [...(before.conditions ?? []), { type: 'NetworkUnavailable', status: 'False' }],
      volumesInUse: ['x'],
    });
    expect(changedStatus(served, nodeStatus(served, { ...INPUT, now: INPUT.now + 10_000 }))).toBeUndefined();
  });

  it('only the fields that differ, and always all conditions of ours', () => {
    const served = nodeWith(nodeStatus(undefined, INPUT));
    const next = nodeStatus(served, { ...INPUT, images: [{ names: ['b:1'], sizeBytes: 2 }] });
    expect(changedStatus(served, next)).toEqual({
      images: [{ names: ['b:1'], sizeBytes: 2 }],
      conditions: next.conditions,
    });
    expect(next.conditions).toHaveLength(4);
  });

  it('nothing about a backend that has not answered yet', () => {
    const { conditions, ...rest } = nodeStatus(undefined, { ...INPUT, host: undefined, images: undefined });
    expect(rest).toEqual({
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      declaredFeatures: ['ExtendWebSocketsToKubelet'],
    });
    expect(conditions).toHaveLength(4);
  });

  it('that a feature is no longer there', () => {
    const served = nodeWith(nodeStatus(undefined, INPUT));
    const next = nodeStatus(served, { ...INPUT, declaredFeatures: [] });
    expect(changedStatus(served, next)).toEqual({ declaredFeatures: [], conditions: next.conditions });
    expect(changedStatus(nodeWith(next), next)).toBeUndefined();
  });

  it('an address that is gone, and an image list that became empty', () => {
    const served = nodeWith(nodeStatus(undefined, INPUT));
    const next = nodeStatus(served, { ...INPUT, images: [], host: { ...HOST, addresses: [] } });
    expect(changedStatus(served, next)).toMatchObject({ images: [], addresses: [{ type: 'Hostname', address: 'n1' }] });
  });
});

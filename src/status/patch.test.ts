import { describe, expect, it } from 'vitest';
import type { ContainerStatus, PodStatus } from '../model/pod.ts';
import { statusPatch } from './patch.ts';

const ready = (value: string, more: object = {}) => ({ type: 'Ready', status: value, ...more });

describe('statusPatch', () => {
  it.each<[string, PodStatus, PodStatus, object | undefined]>([
    ['nothing when all our fields are equal', { phase: 'Running' }, { phase: 'Running' }, undefined],
    ['a changed field', { phase: 'Pending' }, { phase: 'Running' }, { phase: 'Running' }],
    [
      'null for a field that is gone',
      { phase: 'Failed', message: 'old', reason: 'Old' },
      { phase: 'Failed' },
      { message: null, reason: null },
    ],
    ['never a removal of the start time', { startTime: 't', qosClass: 'Burstable' }, {}, undefined],
    ['no field of others', { nominatedNodeName: 'n', resourceClaimStatuses: [{ name: 'c' }] }, {}, undefined],
    [
      'a new condition, in our order',
      { conditions: [{ type: 'Gate', status: 'True' }] },
      { conditions: [{ type: 'Initialized', status: 'True' }, ready('False')] },
      {
        conditions: [
          { type: 'Initialized', status: 'True' },
          { type: 'Ready', status: 'False' },
        ],
        '$setElementOrder/conditions': [{ type: 'Initialized' }, { type: 'Ready' }],
      },
    ],
    [
      'only what changed of a condition, with null for what went away',
      { conditions: [ready('False', { reason: 'R', message: 'm', lastTransitionTime: 't1', lastProbeTime: null })] },
      { conditions: [ready('True', { lastTransitionTime: 't2' })] },
      {
        conditions: [{ type: 'Ready', status: 'True', lastTransitionTime: 't2', reason: null, message: null }],
        '$setElementOrder/conditions': [{ type: 'Ready' }],
      },
    ],
    [
      'a deletion for a condition of ours that is gone, and none for those of others',
      {
        conditions: [
          { type: 'PodResizePending', status: 'True' },
          { type: 'Gate', status: 'True' },
          { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' },
        ],
      },
      {},
      { conditions: [{ $patch: 'delete', type: 'PodResizePending' }], '$setElementOrder/conditions': [] },
    ],
    [
      'nothing for conditions of others that were copied through',
      { conditions: [{ type: 'Gate', status: 'True' }] },
      { conditions: [{ type: 'Gate', status: 'False' }] },
      undefined,
    ],
    [
      'DisruptionTarget when the kubelet is the one who disrupts',
      {},
      { conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }] },
      {
        conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }],
        '$setElementOrder/conditions': [{ type: 'DisruptionTarget' }],
      },
    ],
    [
      'IPs merged by ip',
      { podIPs: [{ ip: 'a' }, { ip: 'b' }] },
      { podIPs: [{ ip: 'c' }, { ip: 'a' }] },
      {
        podIPs: [{ ip: 'c' }, { $patch: 'delete', ip: 'b' }],
        '$setElementOrder/podIPs': [{ ip: 'c' }, { ip: 'a' }],
      },
    ],
    [
      'the new order alone when only that changed',
      { hostIPs: [{ ip: 'a' }, { ip: 'b' }] },
      { hostIPs: [{ ip: 'b' }, { ip: 'a' }] },
      { '$setElementOrder/hostIPs': [{ ip: 'b' }, { ip: 'a' }] },
    ],
    [
      'container lists as a whole',
      { containerStatuses: [container('a', { ready: false }), container('b')] },
      { containerStatuses: [container('a', { ready: true }), container('b')] },
      { containerStatuses: [container('a', { ready: true }), container('b')] },
    ],
    [
      'nothing for fields that the API server writes although they are empty, or leaves out because they are',
      { containerStatuses: [container('a', { lastState: {} })] },
      { message: '', containerStatuses: [container('a', { containerID: '' })], initContainerStatuses: [] },
      undefined,
    ],
    [
      'a container that is created but waits for no reason',
      { containerStatuses: [container('a', { state: {} })] },
      { containerStatuses: [container('a', { state: { waiting: {} } })] },
      { containerStatuses: [container('a', { state: { waiting: {} } })] },
    ],
    [
      'changed quantities, and null for removed ones',
      { resources: { requests: { cpu: '1', memory: '1Gi' } } },
      { resources: { requests: { cpu: '2' } } },
      { resources: { requests: { cpu: '2', memory: null } } },
    ],
  ])('sends %s', (_title, api, wanted, patch) => {
    expect(statusPatch(api, wanted)).toEqual(patch);
  });
});

function container(name: string, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name, image: 'i', imageID: '', ready: true, restartCount: 0, ...more };
}

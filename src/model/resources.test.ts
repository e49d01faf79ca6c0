import { describe, expect, it } from 'vitest';
import type { Pod } from './pod.ts';
import { formatQuantity } from './quantity.ts';
import { effectiveLimits, effectiveRequests, podLimits, podMemoryBound, podRequests, qosClass } from './resources.ts';

type Resources = NonNullable<Pod['spec']['containers'][number]['resources']>;

function podWith(containers: Resources[], more: Partial<Pod['spec']> = {}): Pod {
  return {
    metadata: { name: 'p', namespace: 'n', uid: 'u' },
    spec: { containers: containers.map((resources, i) => ({ name: `c${i}`, image: 'i', resources })), ...more },
  };
}

describe('requests and limits of a pod', () => {
  it('are the sums over its containers', () => {
    const pod = podWith([
      { requests: { cpu: '100m', memory: '64Mi' }, limits: { memory: '64Mi' } },
      { requests: { cpu: '0.25', memory: '64Mi', 'nvidia.com/gpu': '2', 'ephemeral-storage': '1Gi' } },
    ]);
    expect(podRequests(pod)).toEqual({
      cpuMilli: 350,
      memoryBytes: 128 * 2 ** 20,
      ephemeralBytes: 2 ** 30,
      extended: { 'nvidia.com/gpu': 2 },
    });
    expect(podLimits(pod)).toMatchObject({ cpuMilli: 0, memoryBytes: 64 * 2 ** 20 });
    const texts = [...effectiveRequests(pod)].map(([name, quantity]) => [name, formatQuantity(quantity)]);
    expect(Object.fromEntries(texts)).toMatchObject({ cpu: '350m', memory: '128Mi' });
  });

  // PodRequests in k8s.io/component-helpers/resource: sidecars add up, an init container counts beside the sidecars above it.
  it('are those of the init sequence where it needs more at one moment', () => {
    const pod = podWith([{ requests: { cpu: '1', memory: '10' } }], {
      initContainers: [
        { name: 'sidecar', image: 'i', restartPolicy: 'Always', resources: { requests: { cpu: '500m' } } },
        { name: 'init', image: 'i', resources: { requests: { cpu: '2', memory: '5' } } },
      ],
    });
    expect(podRequests(pod)).toMatchObject({ cpuMilli: 2500, memoryBytes: 10 });
  });

  it('add the overhead to all requests but only to limits that exist', () => {
    const pod = podWith([{ requests: { cpu: '1' }, limits: { cpu: '1' } }], {
      overhead: { cpu: '250m', memory: '1Mi' },
    });
    expect(podRequests(pod)).toMatchObject({ cpuMilli: 1250, memoryBytes: 2 ** 20 });
    expect([...effectiveLimits(pod).keys()]).toEqual(['cpu']);
    expect(podLimits(pod).cpuMilli).toBe(1250);
  });

  it('are replaced by pod-level resources where those are set', () => {
    const pod = podWith([{ requests: { cpu: '1', memory: '1Mi' } }], { resources: { requests: { cpu: '3' } } });
    expect(podRequests(pod)).toMatchObject({ cpuMilli: 3000, memoryBytes: 2 ** 20 });
  });
});

describe('the memory bound of a pod', () => {
  it('exists only when every container has a limit', () => {
    expect(podMemoryBound(podWith([{ limits: { memory: '1Mi' } }, { limits: { memory: '2Mi' } }]))).toBe(3 * 2 ** 20);
    expect(podMemoryBound(podWith([{ limits: { memory: '1Mi' } }, {}]))).toBeUndefined();
    expect(podMemoryBound(podWith([{}]))).toBeUndefined();
  });
});

// k8s.io/kubernetes/pkg/apis/core/v1/helper/qos, ComputePodQOS.
describe('the QoS class', () => {
  const full = { cpu: '1', memory: '1Gi' };
  it.each<[string, Resources[], string]>([
    ['no resources at all', [{}], 'BestEffort'],
    ['only zero quantities', [{ requests: { cpu: '0' }, limits: { memory: '0' } }], 'BestEffort'],
    ['only resources that do not count', [{ requests: { 'nvidia.com/gpu': '1' } }], 'BestEffort'],
    ['requests equal to limits', [{ requests: full, limits: full }], 'Guaranteed'],
    [
      'equal amounts written differently',
      [{ requests: { cpu: '1000m', memory: '1024Mi' }, limits: full }],
      'Guaranteed',
    ],
    ['limits of one resource only', [{ requests: { cpu: '1' }, limits: { cpu: '1' } }], 'Burstable'],
    ['requests below limits', [{ requests: { cpu: '1', memory: '1Mi' }, limits: full }], 'Burstable'],
    ['one container without', [{ requests: full, limits: full }, {}], 'Burstable'],
    ['limits without requests', [{ limits: full }], 'Burstable'],
  ])('with %s', (_, containers, expected) => {
    expect(qosClass(podWith(containers))).toBe(expected);
  });

  it('looks at init containers too', () => {
    const pod = podWith([{ requests: full, limits: full }], { initContainers: [{ name: 'i', image: 'i' }] });
    expect(qosClass(pod)).toBe('Burstable');
  });

  it('comes from pod-level resources where those are set', () => {
    expect(qosClass(podWith([{}], { resources: { requests: full, limits: full } }))).toBe('Guaranteed');
  });
});

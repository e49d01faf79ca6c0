import { describe, expect, it } from 'vitest';
import { makePod } from '../testing/builders.ts';
import { changesDownward, downwardPayload } from './downward.ts';

const items = [{ path: 'l', fieldRef: { fieldPath: 'metadata.labels' } }];
const pod = makePod({ metadata: { labels: { a: '1' } }, spec: { volumes: [{ name: 'v', downwardAPI: { items } }] } });

describe('a volume that shows the pod', () => {
  it('reads differently when labels or annotations change, and not when anything else does', () => {
    const labelled = { ...pod, metadata: { ...pod.metadata, labels: { a: '2' } } };
    const touched = { ...pod, metadata: { ...pod.metadata, resourceVersion: '2' }, status: { phase: 'Running' } };
    expect(changesDownward(pod, labelled)).toBe(true);
    expect(changesDownward(pod, touched)).toBe(false);
  });

  it('is looked at only where there is one', () => {
    const plain = { ...pod, spec: { ...pod.spec, volumes: [] } };
    expect(changesDownward(pod, { ...plain, metadata: { ...pod.metadata, labels: {} } })).toBe(false);
  });

  // oracle 085-downward-volume: the annotations that a kubelet adds to its own copy.
  it('shows among the annotations when and where the pod came from', () => {
    const annotations = [{ path: 'a', fieldRef: { fieldPath: 'metadata.annotations' } }];
    const input = { pod, allocatable: undefined, seenMs: Date.UTC(2026, 0, 2, 3, 4, 5, 678) };
    const file = downwardPayload(input, annotations, 0o644).get('a');
    expect(Buffer.from(file?.data ?? []).toString()).toBe(
      'kubernetes.io/config.seen="2026-01-02T03:04:05.678Z"\nkubernetes.io/config.source="api"',
    );
  });

  it('says everything that it cannot show', () => {
    const wrong = [
      { path: 'a', resourceFieldRef: { containerName: 'none', resource: 'limits.cpu' } },
      { path: 'b', resourceFieldRef: { containerName: 'c', resource: 'limits.gpu' } },
    ];
    const input = { pod, allocatable: { cpuMilli: 1, memoryBytes: 1 }, seenMs: undefined };
    expect(() => downwardPayload(input, wrong, 0o644)).toThrow(
      '[container none not found, unsupported container resource : limits.gpu]',
    );
  });
});

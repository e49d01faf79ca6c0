import { describe, expect, it } from 'vitest';
import { makeContainer, makePod } from '../testing/builders.ts';
import { emptyDir } from './empty-dir.ts';

const MiB = 2 ** 20;
const bound = (memory?: string): ReturnType<typeof makePod> =>
  makePod({
    spec: { containers: [makeContainer('c', { resources: memory === undefined ? {} : { limits: { memory } } })] },
  });

// reference 9.2, calculateEmptyDirMemorySize
describe('emptyDir', () => {
  it('on disk is bounded by nothing but its own limit', () => {
    expect(emptyDir('v', {}, bound('1Mi'), MiB)).toEqual({ kind: 'emptyDir', name: 'v', medium: 'disk' });
    expect(emptyDir('v', { sizeLimit: '2Gi' }, bound(), MiB)).toMatchObject({ sizeLimitBytes: 2048 * MiB });
  });

  it.each<[string, string | undefined, string | undefined, number | undefined, number | undefined]>([
    ['the limit', '10Mi', '100Mi', 1000 * MiB, 10 * MiB],
    ['the pod', '200Mi', '100Mi', 1000 * MiB, 100 * MiB],
    ['the node', '2000Mi', '3000Mi', 1000 * MiB, 1000 * MiB],
    ['the node, when the pod is not bounded', undefined, undefined, 1000 * MiB, 1000 * MiB],
    ['the pod, while the node is not known', '0', '100Mi', undefined, 100 * MiB],
    ['nothing', undefined, undefined, undefined, undefined],
  ])('in memory is bounded by %s', (_, sizeLimit, podLimit, node, expected) => {
    const source = { medium: 'Memory', ...(sizeLimit !== undefined && { sizeLimit }) };
    expect(emptyDir('v', source, bound(podLimit), node)).toEqual({
      kind: 'emptyDir',
      name: 'v',
      medium: 'memory',
      ...(expected !== undefined && { sizeLimitBytes: expected }),
    });
  });

  it('refuses other media', () => {
    expect(() => emptyDir('v', { medium: 'HugePages' }, bound(), MiB)).toThrow('unknown storage medium "HugePages"');
  });
});

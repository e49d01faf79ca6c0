import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PodUid } from '../../providers/contract/index.ts';
import { makeContainer, makePod, POD_UID } from '../testing/builders.ts';
import {
  type ContainerRecord,
  containerHash,
  containerRecord,
  parseContainerLabels,
  parsePodLabels,
  podRecord,
  printContainerLabels,
  printPodLabels,
} from './labels.ts';

const text = fc.string({ minLength: 1, maxLength: 20 });
const count = fc.nat(2 ** 31);
const optional = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(arbitrary, { nil: undefined });

const podRecords = fc
  .record({ uid: text, namespace: text, name: text, grace: optional(count) })
  .map(({ uid, namespace, name, grace }) => ({
    pod: { uid: uid as PodUid, namespace, name },
    ...(grace !== undefined && { terminationGraceSeconds: grace }),
  }));

const containerRecords = fc
  .record({
    pod: podRecords,
    container: text,
    restartCount: count,
    hash: text,
    path: optional(text),
    policy: optional(text),
  })
  .map(
    ({ pod, container, restartCount, hash, path, policy }): ContainerRecord => ({
      ...pod,
      container,
      restartCount,
      hash,
      ...(path !== undefined && { terminationMessagePath: path }),
      ...(policy !== undefined && { terminationMessagePolicy: policy }),
    }),
  );

describe('recovery labels', () => {
  // Format 1. Changing a name here breaks the recovery of pods that an older version started.
  it('have the names of the kubelet', () => {
    const container = makeContainer('web', {
      image: 'nginx:1',
      terminationMessagePath: '/dev/termination-log',
      terminationMessagePolicy: 'File',
    });
    expect(printContainerLabels(containerRecord(makePod(), container, 3))).toEqual({
      'io.kubernetes.pod.name': 'p',
      'io.kubernetes.pod.namespace': 'ns',
      'io.kubernetes.pod.uid': POD_UID,
      'io.kubernetes.pod.terminationGracePeriod': '30',
      'io.kubernetes.container.name': 'web',
      'io.kubernetes.container.restartCount': '3',
      'io.kubernetes.container.hash': '28f15340',
      'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
      'io.kubernetes.container.terminationMessagePolicy': 'File',
    });
    expect(printPodLabels(podRecord(makePod()))).toEqual({
      'io.kubernetes.pod.name': 'p',
      'io.kubernetes.pod.namespace': 'ns',
      'io.kubernetes.pod.uid': POD_UID,
      'io.kubernetes.pod.terminationGracePeriod': '30',
    });
  });

  it('give back what was written', () => {
    fc.assert(
      fc.property(podRecords, (record) => {
        expect(parsePodLabels(printPodLabels(record))).toEqual(record);
      }),
    );
    fc.assert(
      fc.property(containerRecords, (record) => {
        expect(parseContainerLabels(printContainerLabels(record))).toEqual(record);
      }),
    );
  });

  it('are read beside foreign labels and not from foreign labels alone', () => {
    const labels = printPodLabels(podRecord(makePod()));
    expect(parsePodLabels({ ...labels, maintainer: 'x' })).toEqual(podRecord(makePod()));
    expect(parsePodLabels({ maintainer: 'x' })).toBeUndefined();
    expect(parseContainerLabels(labels), 'a sandbox is no container').toBeUndefined();
  });

  it.each(['', '-1', '1.5', 'x', '1e3'])('name no container when the restart count is %j', (restartCount) => {
    const labels = printContainerLabels(containerRecord(makePod(), makeContainer(), 0));
    expect(parseContainerLabels({ ...labels, 'io.kubernetes.container.restartCount': restartCount })).toBeUndefined();
  });
});

describe('the hash of a container', () => {
  it('changes with name and image and with nothing else', () => {
    const hash = containerHash(makeContainer('a', { image: 'x' }));
    expect(containerHash(makeContainer('a', { image: 'x', command: ['sh'], env: [{ name: 'A', value: 'b' }] }))).toBe(
      hash,
    );
    expect(containerHash(makeContainer('a', { image: 'y' }))).not.toBe(hash);
    expect(containerHash(makeContainer('b', { image: 'x' }))).not.toBe(hash);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PodUid } from '../contract/index.ts';
import { decodeUnit, encodeUnit, hasLabels, passedLabels, type Unit } from './unit-labels.ts';

const uid = fc.uuid().map((text) => text as PodUid);
const pod = fc.record({ uid, namespace: fc.string({ minLength: 1 }), name: fc.string({ minLength: 1 }) });
const attempt = fc.nat();
const unit: fc.Arbitrary<Unit> = fc.oneof(
  fc.record({ kind: fc.constant('sandbox' as const), pod, attempt }),
  fc.record({
    kind: fc.constant('container' as const),
    pod,
    attempt,
    container: fc.string({ minLength: 1 }),
    sandboxAttempt: attempt,
  }),
  fc.record({ kind: fc.constant('volume' as const), pod, volume: fc.string({ minLength: 1 }) }),
);
const owner = { 'outrigger/node': 'n', 'outrigger/format': '1' };

describe('labels of a unit', () => {
  it('give back what was encoded', () => {
    fc.assert(
      fc.property(unit, (made) => {
        expect(decodeUnit(encodeUnit(made, {}, owner))).toEqual(made);
      }),
    );
  });

  it('give the core its own labels back unchanged, whatever the image adds', () => {
    const key = fc.string({ minLength: 1 }).map((text) => `x/${text}`);
    const labels = fc.dictionary(key, fc.string(), { noNullPrototype: true });
    fc.assert(
      fc.property(unit, labels, labels, (made, passed, ofImage) => {
        const stored = { ...ofImage, ...encodeUnit(made, passed, owner) };
        expect(passedLabels(stored)).toEqual({ ...passed, ...owner });
      }),
    );
  });

  it('name the unit even where the core says otherwise', () => {
    const made = { kind: 'sandbox', pod: { uid: 'u' as PodUid, namespace: 'a', name: 'b' }, attempt: 2 } as const;
    const labels = encodeUnit(made, { 'io.kubernetes.pod.uid': 'other', 'outrigger/node': 'other' }, owner);
    expect(decodeUnit(labels)).toEqual(made);
    expect(hasLabels(labels, owner)).toBe(true);
  });

  it.each([
    ['nothing of ours', {}],
    ['no kind', { 'io.kubernetes.pod.uid': 'u', 'io.kubernetes.pod.name': 'p', 'io.kubernetes.pod.namespace': 'n' }],
    [
      'an attempt that is no number',
      {
        'io.kubernetes.pod.uid': 'u',
        'io.kubernetes.pod.name': 'p',
        'io.kubernetes.pod.namespace': 'n',
        'outrigger/kind': 'sandbox',
        'io.kubernetes.container.restartCount': '-1',
      },
    ],
  ])('are not taken for a unit: %s', (_, labels) => {
    expect(decodeUnit(labels)).toBeUndefined();
  });

  /** The durable format: changing this test means that running pods are lost by an upgrade. */
  it('are written as format 1 writes them', () => {
    const identity = { uid: 'u-1' as PodUid, namespace: 'ns', name: 'web' };
    const made = { kind: 'container', pod: identity, container: 'app', attempt: 3, sandboxAttempt: 1 } as const;
    expect(encodeUnit(made, { tier: 'front' }, owner)).toEqual({
      tier: 'front',
      'outrigger/node': 'n',
      'outrigger/format': '1',
      'outrigger/labels': '["outrigger/format","outrigger/node","tier"]',
      'outrigger/kind': 'container',
      'outrigger/sandbox-attempt': '1',
      'io.kubernetes.pod.name': 'web',
      'io.kubernetes.pod.namespace': 'ns',
      'io.kubernetes.pod.uid': 'u-1',
      'io.kubernetes.container.name': 'app',
      'io.kubernetes.container.restartCount': '3',
    });
  });
});

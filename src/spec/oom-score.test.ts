import { expect, it } from 'vitest';
import type { Container, Pod } from '../model/pod.ts';
import { makeContainer, makePod } from '../testing/builders.ts';
import { oomScoreAdj } from './oom-score.ts';

const NODE_BYTES = 1000 * 2 ** 20;
const asking = (name: string, memory: string, more: Partial<Container> = {}): Container =>
  makeContainer(name, { resources: { requests: { memory } }, ...more });
const score = (spec: Partial<Pod['spec']>, container: Container): number =>
  oomScoreAdj(makePod({ spec }), container, NODE_BYTES);

it('who asks for nothing goes first, who is guaranteed goes last', () => {
  const c = makeContainer('c');
  expect(score({ containers: [c] }, c)).toBe(1000);
  const list = { cpu: '1', memory: '1Mi' };
  const sure = makeContainer('c', { resources: { requests: list, limits: list } });
  expect(score({ containers: [sure] }, sure)).toBe(-997);
  expect(score({ containers: [c], priorityClassName: 'system-node-critical' }, c)).toBe(-997);
});

it.each([
  ['100Mi', 900],
  ['1Mi', 999],
  ['1', 999],
  ['999Mi', 3],
  ['2000Mi', 3],
])('in between it is the share of memory that was asked for: %s', (memory, expected) => {
  const c = asking('c', memory);
  expect(score({ containers: [c] }, c)).toBe(expected);
});

it('a container without a request in a burstable pod is still better than best effort', () => {
  const c = makeContainer('c');
  expect(score({ containers: [c, asking('d', '100Mi')] }, c)).toBe(999);
});

it('a sidecar goes no sooner than the containers that it serves', () => {
  const sidecar = asking('s', '10Mi', { restartPolicy: 'Always' });
  const containers = [asking('a', '300Mi'), asking('b', '200Mi')];
  expect(score({ initContainers: [sidecar], containers }, sidecar)).toBe(800);
  const init = asking('i', '10Mi');
  expect(score({ initContainers: [init], containers }, init)).toBe(990);
});

import { expect, it } from 'vitest';
import { makeContainer, makePod } from '../testing/builders.ts';
import { firstUnaskableProbe } from './unsupported-probe.ts';

const exec = { exec: { command: ['true'] } };
const http = { httpGet: { port: 80 } };
const pod = makePod({
  spec: {
    initContainers: [makeContainer('side', { restartPolicy: 'Always', startupProbe: exec })],
    containers: [makeContainer('a'), makeContainer('b', { readinessProbe: http, livenessProbe: exec })],
  },
});

it.each([
  [{ exec: true, dial: true }, undefined],
  [
    { exec: true, dial: false },
    { path: 'spec.containers[1].readinessProbe', why: 'the provider cannot connect to pods' },
  ],
  [
    { exec: false, dial: true },
    { path: 'spec.containers[1].livenessProbe', why: 'the provider cannot run commands in containers' },
  ],
])('a probe needs the facet that it goes through: %j', (facets, expected) => {
  expect(firstUnaskableProbe(pod, facets)).toEqual(expected);
});

it('sidecars are looked at, too', () => {
  const only = makePod({ spec: { ...pod.spec, containers: [makeContainer()] } });
  expect(firstUnaskableProbe(only, { exec: false, dial: true })?.path).toBe('spec.initContainers[0].startupProbe');
});

import { expect, it } from 'vitest';
import { makeContainer, makePod } from '../testing/builders.ts';
import { firstUnreadableEnvFile } from './unsupported-env.ts';

it('a variable from a file needs a backend that reads files', () => {
  const env = [{ name: 'A' }, { name: 'B', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'k' } } }];
  const pod = makePod({ spec: { initContainers: [makeContainer('i', { env })] } });
  expect(firstUnreadableEnvFile(pod, true)).toBeUndefined();
  expect(firstUnreadableEnvFile(makePod(), false)).toBeUndefined();
  expect(firstUnreadableEnvFile(pod, false)).toEqual({
    path: 'spec.initContainers[0].env[1].valueFrom.fileKeyRef',
    why: 'the provider cannot read files of a volume',
  });
});

import { expect, test } from 'vitest';
import { parseConfig } from './schema.ts';

test('nothing configured is a container-level backend with room', () => {
  const config = parseConfig(undefined);
  expect(config).toMatchObject({ kind: 'container', images: 'any', capacity: { cpu: 64, pods: 1000 } });
  expect(config.capacity.memory).toBe(256 * 2 ** 30);
});

test('memory may be written with a unit', () => {
  expect(parseConfig({ capacity: { memory: '2Gi' } }).capacity.memory).toBe(2 ** 31);
});

test.each([
  [{ kind: 'vm' }, /^provider fake: kind: /],
  [{ capacity: { memory: '2G' } }, /^provider fake: capacity\.memory: /],
  [{ scripts: [{ exitCode: 300 }] }, /^provider fake: scripts\.0\.exitCode: /],
  [{ colour: 'red' }, /^provider fake: .*colour/],
])('a bad value is named with its path: %j', (raw, message) => {
  expect(() => parseConfig(raw)).toThrow(message);
});

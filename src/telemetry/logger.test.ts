import { pino } from 'pino';
import { expect, it } from 'vitest';
import { createLogging, REDACTED } from './logger.ts';

it('a verbosity that changes while the process runs counts for loggers made before, too', () => {
  const { log, setVerbosity } = createLogging({ format: 'json', verbosity: 2 });
  const child = log.child({ node: 'n' });
  const grandchild = child.child({ pod: 'p' });
  const levels = (): string[] => [log, child, grandchild].map(({ level }) => level);
  expect(levels()).toEqual(['info', 'info', 'info']);
  setVerbosity(5);
  expect(levels()).toEqual(['debug', 'debug', 'debug']);
  setVerbosity(0);
  expect(levels()).toEqual(['info', 'info', 'info']);
});

it('what a specification holds of secrets is left out, however it is logged', () => {
  const lines: string[] = [];
  const log = pino({ redact: REDACTED }, { write: (line) => void lines.push(line) });
  const canary = 'canary-7f3a';
  const container = { name: 'c', env: [{ name: 'A', value: canary, sensitive: true }] };
  const sandbox = { hostname: 'h', volumes: [{ files: [{ path: 'p', data: canary }] }] };
  log.info(container, 'a container');
  log.info({ spec: container }, 'a container');
  log.info({ sandbox }, 'a sandbox');
  log.info({ spec: { sandbox, containers: [container] } }, 'a plan');
  log.info({ secret: { data: { key: canary } }, auth: { password: canary } }, 'objects');
  expect(lines).toHaveLength(5);
  expect(lines.filter((line) => line.includes(canary))).toEqual([]);
});

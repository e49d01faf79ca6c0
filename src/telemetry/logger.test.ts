import { expect, it } from 'vitest';
import { createLogging } from './logger.ts';

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

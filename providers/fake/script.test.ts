import { expect, test } from 'vitest';
import type { ContainerSpec } from '../contract/index.ts';
import { ScriptBook } from './script.ts';

function container(overrides: Partial<ContainerSpec>): ContainerSpec {
  return {
    name: 'web',
    attempt: 0,
    role: 'main',
    image: 'web:1',
    env: [],
    mounts: [],
    resources: {},
    security: {},
    terminal: { tty: false, stdin: false, stdinOnce: false },
    labels: {},
    ...overrides,
  };
}

test('given scripts win over environment, environment over command, command over default', () => {
  const book = new ScriptBook({ exitAfterMs: 1, exitCode: 1, stopAfterMs: 1, message: 'default' });
  book.add({ container: 'web' }, { exitCode: 4 });
  const spec = container({
    command: ['sleep', '2'],
    env: [
      { name: 'FAKE_STOP_AFTER_MS', value: '3' },
      { name: 'FAKE_EXIT_CODE', value: '3' },
      { name: 'FAKE_EXIT_AFTER_MS', value: '30' },
    ],
  });
  expect(book.scriptFor('pod', spec)).toMatchObject({
    exitAfterMs: 30,
    exitCode: 4,
    stopAfterMs: 3,
    message: 'default',
  });
});

test('an exit code in the environment alone means an exit at once', () => {
  const spec = container({ env: [{ name: 'FAKE_EXIT_CODE', value: '7' }] });
  expect(new ScriptBook().scriptFor('pod', spec)).toEqual({ exitAfterMs: 0, exitCode: 7 });
});

test('a script is for the containers that it matches, by every field that it names', () => {
  const book = new ScriptBook();
  book.add({ pod: 'a', container: 'web', attempt: 1 }, { exitCode: 1 });
  expect(book.scriptFor('a', container({ attempt: 1 }))).toEqual({ exitCode: 1 });
  expect(book.scriptFor('a', container({ attempt: 0 }))).toEqual({});
  expect(book.scriptFor('b', container({ attempt: 1 }))).toEqual({});
  expect(book.scriptFor('a', container({ attempt: 1, name: 'db' }))).toEqual({});
});

test('the last matching script wins field by field', () => {
  const book = new ScriptBook();
  book.add({}, { exitCode: 1, stopExitCode: 1 });
  book.add({ image: 'web:1' }, { exitCode: 2, stopExitCode: undefined });
  expect(book.scriptFor('a', container({}))).toEqual({ exitCode: 2, stopExitCode: 1 });
});

import type Docker from 'dockerode';
import { expect, it } from 'vitest';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { EngineCalls } from './calls.ts';
import type { Engine } from './engine.ts';
import { execExit, exitOf } from './exec-exit.ts';

const notFound = Object.assign(new Error('HTTP 404'), { statusCode: 404 });

type Answer = { readonly Running: boolean; readonly ExitCode: number | null; readonly Pid: number } | Error;

/** The last answer is repeated. */
function engineOf(answers: readonly Answer[], containerRuns: () => boolean = () => true) {
  const clock = new FakeClock();
  const asked: number[] = [];
  const start = clock.now();
  const docker = {
    getExec: () => ({
      inspect: async () => {
        asked.push(clock.now() - start);
        const answer = answers[Math.min(asked.length, answers.length) - 1];
        if (answer === undefined || answer instanceof Error) throw answer ?? new Error('no answer');
        return answer;
      },
    }),
    getContainer: () => ({ inspect: async () => ({ State: { Running: containerRuns() } }) }),
  } as unknown as Docker; // the part of it that is used
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const { signal } = new AbortController();
  const context = { nodeName: 'n', ownerLabels: {}, log, clock, signal };
  const engine: Engine = { docker, calls: new EngineCalls(clock, 30_000), context };
  return { engine, clock, asked };
}

const command = { execId: 'e', containerId: 'c' };
const running = { Running: true, ExitCode: null, Pid: 7 };

it('asks again, less and less often, until the command has ended', async () => {
  const { engine, clock, asked } = engineOf([running, running, running, { Running: false, ExitCode: 3, Pid: 7 }]);
  const exit = execExit(engine, command, { signal: new AbortController().signal });
  await clock.advance(1000);
  expect(await exit).toEqual({ type: 'exited', code: 3 });
  expect(asked).toEqual([0, 5, 15, 35]);
});

it('takes a command for killed when its container does not run any more', async () => {
  let runs = true;
  const { engine, clock } = engineOf([running], () => runs);
  let ended = false;
  const exit = execExit(engine, command, { signal: new AbortController().signal }).finally(() => {
    ended = true;
  });
  await clock.advance(60_000);
  expect(ended).toBe(false);
  runs = false;
  await clock.advance(1000);
  expect(await exit).toEqual({ type: 'exited', code: 137 });
});

it('takes a command for killed when the engine has forgotten it', async () => {
  const { engine } = engineOf([notFound]);
  const exit = execExit(engine, command, { signal: new AbortController().signal });
  expect(await exit).toEqual({ type: 'exited', code: 137 });
});

it('stops asking when it is aborted', async () => {
  const { engine, clock, asked } = engineOf([running]);
  const abort = new AbortController();
  const exit = execExit(engine, command, abort);
  const outcome = exit.catch((error: unknown) => error);
  await clock.advance(10);
  abort.abort();
  expect(await outcome).toBe(abort.signal.reason);
  const before = asked.length;
  await clock.advance(10_000);
  expect(asked).toHaveLength(before);
});

it('tells a command that never ran from one that ended with 126', () => {
  expect(exitOf({ ExitCode: 126, Pid: 7 })).toEqual({ type: 'exited', code: 126 });
  expect(exitOf({ ExitCode: 126, Pid: 0 }, 'no such file')).toMatchObject({
    type: 'failed',
    error: { code: 'Internal', message: 'no such file', reason: 'StartError' },
  });
  expect(exitOf({ ExitCode: null, Pid: 7 })).toEqual({ type: 'exited', code: 137 });
});

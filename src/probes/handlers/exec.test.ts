import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { type ExecExit, type ExecFacet, type ExecSession, ProviderError } from '../../../providers/contract/index.ts';
import { makeContainer, POD_UID } from '../../testing/builders.ts';
import { FakeClock } from '../../testing/fake-clock.ts';
import { oneSecond } from '../testing/loopback.ts';
import { probeCommand, probeExec } from './exec.ts';

const ref = { podUid: POD_UID, container: 'c', attempt: 0 };

function session(exit: Promise<ExecExit>): ExecSession & { stdout: PassThrough; stderr: PassThrough } {
  return { stdout: new PassThrough(), stderr: new PassThrough(), resize: () => undefined, exit };
}

function ask(exec: ExecFacet['exec'], command: readonly string[] = ['cmd'], clock = new FakeClock()) {
  return probeExec({ exec }, ref, command, oneSecond(clock));
}

describe('the exit code decides', () => {
  const ends =
    (code: number, stdout: string, stderr: string): ExecFacet['exec'] =>
    async () => {
      const exit = Promise.withResolvers<ExecExit>();
      const made = session(exit.promise);
      made.stdout.end(stdout);
      made.stderr.end(stderr);
      made.stdout.on('end', () => setImmediate(() => exit.resolve({ type: 'exited', code })));
      return made;
    };

  it('0 is success', async () => {
    expect(await ask(ends(0, 'fine', ''))).toEqual({ type: 'success' });
  });

  it('another is a failure that shows stdout and then stderr', async () => {
    expect(await ask(ends(1, 'out\n', 'err\n'))).toEqual({ type: 'failure', output: 'out\nerr\n' });
  });

  it('of the output 10 KiB are shown, and the command can write as much as it wants', async () => {
    const attempt = await ask(ends(1, 'x'.repeat(1_000_000), 'err'));
    expect(attempt).toEqual({ type: 'failure', output: 'x'.repeat(10_240) });
  });
});

it('a broken session is an error, one of a backend that is away is nothing', async () => {
  const broken = (error: Error) =>
    ask(async () => {
      const made = session(Promise.resolve({ type: 'failed', error }));
      made.stdout.destroy(error);
      made.stderr.destroy(error);
      return made;
    });
  expect(await broken(new Error('oops'))).toEqual({ type: 'errored', state: 'unknown', message: 'oops' });
  const away = new ProviderError('Unavailable', 'gone');
  expect(await broken(away)).toEqual({ type: 'away', error: away });
});

it('a container that does not run is an error', async () => {
  const attempt = await ask(() => Promise.reject(new ProviderError('NotFound', 'container is not running')));
  expect(attempt).toEqual({ type: 'errored', state: 'unknown', message: 'container is not running' });
});

it('a command that ends too late has failed, also when the backend takes its time to start it', async () => {
  const clock = new FakeClock();
  const late = Promise.withResolvers<ExecSession>();
  const asked = ask(() => late.promise, ['sh', '-c', 'sleep 9'], clock);
  await clock.advance(1_000);
  expect(await asked).toEqual({ type: 'failure', output: 'command timed out: "sh -c sleep 9" timed out after 1s' });
  const made = session(Promise.resolve({ type: 'failed', error: new Error('aborted') }));
  late.resolve(made);
  await clock.advance(0);
  expect([made.stdout.destroyed, made.stderr.destroyed]).toEqual([true, true]);
});

it('the command knows the static environment only (kubelet: ExpandContainerCommandOnlyStatic)', () => {
  const container = makeContainer('c', {
    env: [
      { name: 'A', value: '1' },
      { name: 'A', value: '$(B)' },
      { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
    ],
  });
  expect(probeCommand(['echo', '$(A)-$(NODE)-$(NOSUCH)-$$(A)'], container)).toEqual(['echo', '$(B)--$(NOSUCH)-$(A)']);
});

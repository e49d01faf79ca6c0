import { describe, expect, it } from 'vitest';
import {
  exited,
  makeContainer,
  makeObservedContainer,
  makeObservedPod,
  makePod,
  running,
} from '../../testing/builders.ts';
import { actions, NOW, READY, sandbox, snapshot } from '../../testing/plan-setup.ts';
import { planContainers } from './containers.ts';

const plain = makeContainer('i');
const second = makeContainer('j');
const side = makeContainer('side', { restartPolicy: 'Always' });
const seen = makeObservedContainer;

function pod(initContainers: readonly (typeof plain)[], restartPolicy = 'Always') {
  return makePod({ spec: { initContainers: [...initContainers], restartPolicy } });
}

describe('init containers (reference 2.6)', () => {
  it('start one after the other, then the main ones in the same pass', () => {
    const two = pod([plain, second]);
    expect(actions({ pod: two, observed: sandbox() })).toEqual(['pull i', 'start i#0']);
    expect(actions({ pod: two, observed: sandbox(seen('i', running())) })).toEqual([]);
    expect(actions({ pod: two, observed: sandbox(seen('i', exited(0))) })).toEqual(['pull j', 'start j#0']);
    expect(actions({ pod: two, observed: sandbox(seen('i', exited(0)), seen('j', exited(0))) })).toEqual([
      'pull c',
      'start c#0',
    ]);
  });

  it('are known by the last one that completed: those before may have been forgotten', () => {
    expect(actions({ pod: pod([plain, second]), observed: sandbox(seen('j', exited(0))) })).toEqual([
      'pull c',
      'start c#0',
    ]);
  });

  it('are tried again when they fail, with the back-off of every container', () => {
    const observed = sandbox(seen('i', exited(3)));
    expect(actions({ pod: pod([plain, second]), observed })).toEqual(['pull i', 'start i#1']);
    const memory = { ...READY, backoffs: new Map([['i', { delayMs: 120_000, updatedAtMs: NOW - 60_000 }]]) };
    expect(actions({ pod: pod([plain]), observed, memory })).toEqual(['back-off i']);
  });

  it('fail the pod when they may not be tried again', () => {
    const observed = sandbox(seen('i', exited(3)));
    expect(actions({ pod: pod([plain, second], 'Never'), observed })).toEqual(['stopSandbox']);
  });

  it('count as failed when the kernel killed them, whatever their exit code', () => {
    const observed = sandbox(seen('i', exited(0, { oomKilled: true })));
    expect(actions({ pod: pod([plain]), observed })).toEqual(['pull i', 'start i#1']);
  });

  it('never run again once a main container is there', () => {
    expect(actions({ pod: pod([plain]), observed: sandbox(seen('c', running())) })).toEqual([]);
    const restarted = sandbox(seen('i', exited(0)), seen('c', exited(1)));
    expect(actions({ pod: pod([plain]), observed: restarted })).toEqual(['pull c', 'start c#1']);
  });

  it('run again in a new sandbox, from the first one on (reference 2.6.5)', () => {
    const observed = makeObservedPod({
      state: 'stopped',
      containers: [seen('i', exited(0)), seen('j', exited(0)), seen('c', exited(137))],
    });
    const two = pod([plain, second]);
    expect(actions({ pod: two, observed })).toEqual(['remove i#0', 'remove j#0']);
    expect(actions({ pod: two, observed: { ...observed, containers: [seen('c', exited(137))] } })).toEqual([
      'sandbox 1',
    ]);
    const fresh = makeObservedPod({ attempt: 1, containers: [seen('c', exited(137))] });
    const status = { initContainerStatuses: [{ ...named('i'), restartCount: 0, containerID: 'x://1' }] };
    expect(actions({ pod: two, observed: fresh, memory: { ...READY, status } })).toEqual(['pull i', 'start i#1']);
  });
});

describe('sidecars (reference 2.6)', () => {
  const started = new Set(['side#0']);

  it('let the next one start as soon as they have started', () => {
    const both = pod([side, plain]);
    expect(actions({ pod: both, observed: sandbox() })).toEqual(['pull side', 'start side#0']);
    const live = sandbox(seen('side', running()));
    expect(actions({ pod: both, observed: live })).toEqual([]);
    expect(actions({ pod: both, observed: live, started })).toEqual(['pull i', 'start i#0']);
  });

  it('let the main ones start when they are the last', () => {
    expect(actions({ pod: pod([side]), observed: sandbox(seen('side', running())), started })).toEqual([
      'pull c',
      'start c#0',
    ]);
  });

  it('are restarted while the main ones run, also under the policy Never', () => {
    const observed = sandbox(seen('side', exited(0)), seen('c', running()));
    expect(actions({ pod: pod([side], 'Never'), observed })).toEqual(['pull side', 'start side#1']);
    expect(actions({ pod: pod([side]), observed: sandbox(seen('c', running())) })).toEqual([
      'pull side',
      'start side#0',
    ]);
  });

  it('do not keep a pod alive', () => {
    const observed = sandbox(seen('side', running()), seen('c', exited(0)));
    expect(actions({ pod: pod([side], 'Never'), observed })).toEqual(['stop side#0 30s']);
  });

  it('that a probe gave up are replaced, in words of their own (reference 3.3)', () => {
    const observed = sandbox(seen('side', running()), seen('c', running()));
    const unhealthy = new Map([['side#0', { probe: 'liveness' as const }]]);
    const [action] = planContainers(snapshot({ pod: pod([side]), observed, unhealthy, started })).actions;
    expect(action).toMatchObject({
      type: 'stopContainer',
      container: 'side',
      why: 'Init container side failed liveness probe',
      restart: { type: 'unhealthy' },
    });
  });
});

describe('ephemeral containers (reference 2.7)', () => {
  const debugged = makePod({ spec: { initContainers: [plain], ephemeralContainers: [{ name: 'e', image: 'x' }] } });

  it('start at once, also before the pod is initialized', () => {
    expect(actions({ pod: debugged, observed: sandbox(seen('i', running())) })).toEqual(['pull e', 'start e#0']);
  });

  it('never start again', () => {
    const observed = sandbox(seen('i', running()), seen('e', exited(1)));
    expect(actions({ pod: debugged, observed })).toEqual([]);
    const status = {
      ephemeralContainerStatuses: [
        { ...named('e'), state: { terminated: { exitCode: 0, startedAt: '', finishedAt: '' } } },
      ],
    };
    const forgotten = sandbox(seen('i', running()));
    expect(actions({ pod: debugged, observed: forgotten, memory: { ...READY, status } })).toEqual([]);
  });
});

function named(name: string) {
  return { name, ready: false, restartCount: 0, image: '', imageID: '' };
}

import { describe, expect, it } from 'vitest';
import type { ContainerStatus, Pod } from '../model/pod.ts';
import { makeContainer, makePod } from '../testing/builders.ts';
import { computePhase, type Phase } from './phase.ts';

type Brief = 'waiting' | 'up' | 'starting' | 'gone' | `exit ${number}` | `after ${number}`;

/** `up` runs and is started, `starting` runs, `exit n` is terminated, `after n` waits for its next start, `gone` has no status. */
function status(name: string, brief: Brief): ContainerStatus[] {
  const base = { name, image: 'i', imageID: '', ready: false, restartCount: 0, lastState: {} };
  const [word = '', code = '0'] = brief.split(' ');
  const terminated = { exitCode: Number(code) };
  switch (word) {
    case 'gone':
      return [];
    case 'waiting':
      return [{ ...base, state: { waiting: {} } }];
    case 'after':
      return [{ ...base, state: { waiting: {} }, lastState: { terminated } }];
    case 'exit':
      return [{ ...base, state: { terminated } }];
    default:
      return [{ ...base, state: { running: {} }, started: word === 'up' }];
  }
}

interface Course {
  readonly init?: readonly Brief[];
  readonly sidecars?: readonly Brief[];
  readonly main: readonly Brief[];
  readonly policy?: 'Always' | 'OnFailure' | 'Never';
  readonly finished?: boolean;
  readonly anyMainSeen?: boolean;
}

function phase({
  init = [],
  sidecars = [],
  main,
  policy = 'Always',
  finished = false,
  anyMainSeen = true,
}: Course): Phase {
  const names = (prefix: string, list: readonly Brief[]) => list.map((_, index) => `${prefix}${index}`);
  const all = (prefix: string, list: readonly Brief[]) =>
    list.flatMap((brief, index) => status(`${prefix}${index}`, brief));
  const pod: Pod = makePod({
    spec: {
      restartPolicy: policy,
      containers: names('c', main).map((name) => makeContainer(name)),
      initContainers: [
        ...names('s', sidecars).map((name) => makeContainer(name, { restartPolicy: 'Always' })),
        ...names('i', init).map((name) => makeContainer(name)),
      ],
    },
  });
  return computePhase({
    pod,
    init: [...all('s', sidecars), ...all('i', init)],
    main: all('c', main),
    finished,
    anyMainSeen,
  });
}

// reference 1.1 (getPhase)
describe('the phase of a pod', () => {
  it.each<[string, Course, Phase]>([
    ['everything runs', { main: ['up', 'up'] }, 'Running'],
    ['one never started', { main: ['up', 'waiting'] }, 'Pending'],
    ['one has no status', { main: ['up', 'gone'] }, 'Pending'],
    ['nothing has a status', { main: ['gone'] }, 'Pending'],
    ['one runs and one has ended', { main: ['up', 'exit 0'], policy: 'Never' }, 'Running'],
    ['one waits for its restart', { main: ['after 1'] }, 'Running'],
    ['all ended and restart', { main: ['exit 0', 'exit 1'] }, 'Running'],
    ['all ended well', { main: ['exit 0', 'exit 0'], policy: 'OnFailure' }, 'Succeeded'],
    ['one failed and restarts', { main: ['exit 0', 'exit 1'], policy: 'OnFailure' }, 'Running'],
    ['one failed for good', { main: ['exit 0', 'exit 1'], policy: 'Never' }, 'Failed'],
    ['all ended well and the pod is finished', { main: ['exit 0'], finished: true }, 'Succeeded'],
    ['one failed and the pod is finished', { main: ['exit 0', 'exit 1'], finished: true }, 'Failed'],
    ['a finished pod waits for a restart that never comes', { main: ['after 0'], finished: true }, 'Failed'],
    ['a finished pod never started', { main: ['waiting'], finished: true }, 'Pending'],
  ])('when %s', (_, course, expected) => {
    expect(phase(course)).toBe(expected);
  });

  it.each<[string, Course, Phase]>([
    ['runs', { init: ['up'], main: ['waiting'], anyMainSeen: false }, 'Pending'],
    ['never started', { init: ['waiting'], main: ['waiting'], anyMainSeen: false }, 'Pending'],
    ['has no status', { init: ['gone'], main: ['up'] }, 'Pending'],
    ['failed and restarts', { init: ['exit 1'], main: ['waiting'], anyMainSeen: false }, 'Pending'],
    ['failed for good', { init: ['exit 1', 'waiting'], main: ['waiting'], policy: 'Never' }, 'Failed'],
    ['waits after a failure for good', { init: ['after 1'], main: ['waiting'], policy: 'Never' }, 'Failed'],
    ['is through', { init: ['exit 0'], main: ['up'] }, 'Running'],
  ])('when an init container %s', (_, course, expected) => {
    expect(phase(course)).toBe(expected);
  });

  it.each<[string, Course, Phase]>([
    ['is not started yet', { sidecars: ['starting'], main: ['waiting'], anyMainSeen: false }, 'Pending'],
    ['restarts under running containers', { sidecars: ['starting'], main: ['up'] }, 'Running'],
    ['waits for its restart', { sidecars: ['after 1'], main: ['up'] }, 'Running'],
    ['never started', { sidecars: ['waiting'], main: ['up'] }, 'Pending'],
    ['has no status', { sidecars: ['gone'], main: ['up'] }, 'Pending'],
    ['outlives the main ones', { sidecars: ['up'], main: ['exit 0'], policy: 'Never' }, 'Running'],
    [
      'was killed after the main ones ended well',
      { sidecars: ['exit 137'], main: ['exit 0'], policy: 'Never' },
      'Succeeded',
    ],
  ])('when a sidecar %s', (_, course, expected) => {
    expect(phase(course)).toBe(expected);
  });
});

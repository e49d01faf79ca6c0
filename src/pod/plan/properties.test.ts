import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  exited,
  makeContainer,
  makeObservedContainer,
  makeObservedPod,
  makePod,
  running,
} from '../../testing/builders.ts';
import { READY, snapshot } from '../../testing/plan-setup.ts';
import { planContainers } from './containers.ts';

describe('properties', () => {
  const state = fc.oneof(
    fc.constant({ status: 'created' } as const),
    fc.constant(running()),
    fc.integer({ min: 0, max: 3 }).map((code) => exited(code)),
  );
  const observed = fc.option(
    fc.record({
      state: fc.constantFrom('pending', 'ready', 'stopped', 'stopping'),
      // An incarnation is there once: its name on the backend says name and attempt.
      containers: fc.uniqueArray(
        fc
          .tuple(fc.constantFrom('a', 'b'), state, fc.integer({ min: 0, max: 3 }))
          .map(([name, s, attempt]) => makeObservedContainer(name, s, { attempt })),
        { maxLength: 6, selector: ({ name, attempt }) => `${name}#${attempt}` },
      ),
    }),
    { nil: undefined },
  );
  const policy = fc.constantFrom('Always', 'OnFailure', 'Never');
  const stop = fc.option(
    fc.record({ type: fc.constantFrom('delete', 'removed'), graceSeconds: fc.integer({ min: 1, max: 40 }) }),
    { nil: undefined },
  );

  it('never starts anything for a pod that must stop, and never two incarnations of one container', () => {
    fc.assert(
      fc.property(observed, policy, stop, (seen, restartPolicy, intent) => {
        const pod = makePod({ spec: { restartPolicy, containers: [makeContainer('a'), makeContainer('b')] } });
        const planned = planContainers(snapshot({ pod, stop: intent, observed: seen && makeObservedPod(seen) }));
        const starts = planned.actions.filter((action) => action.type === 'startContainer');
        if (intent !== undefined) expect(starts).toEqual([]);
        expect(new Set(starts.map(({ container }) => container)).size).toBe(starts.length);
        for (const { container } of starts) {
          expect(
            seen?.containers
              .filter(({ name, state: s }) => name === container && s.status === 'running')
              .every(
                ({ attempt }) =>
                  attempt <
                  Math.max(...(seen?.containers.filter((c) => c.name === container).map((c) => c.attempt) ?? [0])),
              ),
          ).toBe(true);
        }
      }),
    );
  });

  it('never removes a sandbox or finishes while a container may run', () => {
    fc.assert(
      fc.property(observed, policy, stop, (seen, restartPolicy, intent) => {
        const pod = makePod({ spec: { restartPolicy, containers: [makeContainer('a'), makeContainer('b')] } });
        const planned = planContainers(
          snapshot({
            pod,
            stop: intent,
            observed: seen && makeObservedPod(seen),
            memory: { ...READY, finalWritten: true },
          }),
        );
        if (seen?.containers.some((container) => container.state.status === 'running')) {
          expect(planned.finished).toBeUndefined();
          expect(planned.actions.map(({ type }) => type)).not.toContain('removeSandbox');
        }
      }),
    );
  });
});

import { describe, expect, it } from 'vitest';
import { makePod, POD_UID } from '../testing/builders.ts';
import { DesiredPods } from './desired.ts';

function make() {
  const changes: string[] = [];
  return { changes, desired: new DesiredPods((_, change) => changes.push(change)) };
}
const terminating = (seconds: number) =>
  makePod({ metadata: { deletionTimestamp: '2026-01-02T03:05:00Z', deletionGracePeriodSeconds: seconds } });

describe('desired pods', () => {
  it('take a deletion as a stop with its grace period, at least one second (reference 2.10)', () => {
    const { desired, changes } = make();
    desired.put(makePod());
    expect(desired.get(POD_UID)?.stop).toBeUndefined();
    desired.put(terminating(30));
    expect(desired.get(POD_UID)?.stop).toEqual({ type: 'delete', graceSeconds: 30 });
    desired.put(terminating(0));
    expect(desired.get(POD_UID)?.stop).toEqual({ type: 'delete', graceSeconds: 1 });
    expect(changes).toEqual(['spec', 'stop', 'spec']);
  });

  it('never lengthen a grace period or take a stop back', () => {
    const { desired } = make();
    desired.put(terminating(5));
    desired.put(terminating(60));
    desired.put(makePod());
    expect(desired.get(POD_UID)?.stop).toEqual({ type: 'delete', graceSeconds: 5 });
  });

  it('keep a pod whose object is gone until its worker forgets it', () => {
    const { desired } = make();
    desired.put(makePod());
    desired.remove(makePod());
    expect(desired.get(POD_UID)?.stop).toEqual({ type: 'removed', graceSeconds: 30 });
    desired.forget(POD_UID);
    expect([...desired.all()]).toEqual([]);
  });

  it('kill a force-deleted pod quickly', () => {
    const { desired } = make();
    desired.put(makePod());
    desired.remove(terminating(0));
    expect(desired.get(POD_UID)?.stop).toEqual({ type: 'removed', graceSeconds: 1 });
  });

  it('know nothing of a removal they never saw added', () => {
    const { desired, changes } = make();
    desired.remove(makePod());
    expect(desired.get(POD_UID)).toBeUndefined();
    expect(changes).toEqual([]);
  });
});

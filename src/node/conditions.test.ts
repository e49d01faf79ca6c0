import { describe, expect, it } from 'vitest';
import { joinProblems, type NodeHealth, nodeConditions, readyProblems, sameConditions } from './conditions.ts';

const NOW = Date.parse('2026-01-02T03:04:05.678Z');

function health(overrides: Partial<NodeHealth> = {}): NodeHealth {
  return {
    runtime: { status: 'up' },
    pleg: { healthy: true, lastSeenMs: NOW },
    networkProblem: undefined,
    ...overrides,
  };
}

function readyMessage(overrides: Partial<NodeHealth>): string | undefined {
  return nodeConditions([], readyProblems(health(overrides), NOW), NOW).at(-1)?.message;
}

describe('the Ready condition', () => {
  it('is True and last when nothing is wrong', () => {
    const conditions = nodeConditions([], readyProblems(health(), NOW), NOW);
    expect(conditions.map(({ type, status, reason, message }) => [type, status, reason, message])).toEqual([
      ['MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
      ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
      ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
      ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
    ]);
  });

  it('says that the runtime was not asked yet', () => {
    expect(readyMessage({ runtime: { status: 'unchecked' } })).toBe(
      'container runtime status check may not have completed yet',
    );
  });

  it("says that the runtime is down, in the backend's words on one line", () => {
    const runtime = {
      status: 'down',
      reason: 'Unavailable',
      message: 'connect ENOENT\n  /var/run/docker.sock',
    } as const;
    expect(readyMessage({ runtime })).toBe(
      '[container runtime is down, container runtime not ready: RuntimeReady=false reason:Unavailable message:connect ENOENT /var/run/docker.sock]',
    );
  });

  it('says when the PLEG was last seen', () => {
    expect(readyMessage({ pleg: { healthy: false, lastSeenMs: NOW - 185_250 } })).toBe(
      'PLEG is not healthy: pleg was last seen active 3m5s ago; threshold is 3m0s',
    );
  });

  it('says why there is no pod network', () => {
    expect(readyMessage({ networkProblem: 'no pod network' })).toBe(
      'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:no pod network',
    );
  });
});

describe('several problems', () => {
  it('print as the kubelet prints them: one bare, more in brackets, repetitions once', () => {
    expect(joinProblems(['a'])).toBe('a');
    expect(joinProblems(['a', 'b', 'a'])).toBe('[a, b]');
  });
});

describe('times', () => {
  it('move with the status, heartbeats with every computation', () => {
    const first = nodeConditions([], [], NOW);
    expect(first.at(-1)).toMatchObject({
      lastHeartbeatTime: '2026-01-02T03:04:05Z',
      lastTransitionTime: '2026-01-02T03:04:05Z',
    });
    const later = nodeConditions(first, [], NOW + 10_000);
    expect(later.at(-1)).toMatchObject({
      lastHeartbeatTime: '2026-01-02T03:04:15Z',
      lastTransitionTime: '2026-01-02T03:04:05Z',
    });
    expect(sameConditions(first, later)).toBe(true);
    const broken = nodeConditions(later, ['broken'], NOW + 20_000);
    expect(broken.at(-1)).toMatchObject({ status: 'False', lastTransitionTime: '2026-01-02T03:04:25Z' });
    expect(broken[0]).toMatchObject({ lastTransitionTime: '2026-01-02T03:04:05Z' });
    expect(sameConditions(later, broken)).toBe(false);
    const otherwise = nodeConditions(broken, ['broken otherwise'], NOW + 30_000);
    expect(otherwise.at(-1)).toMatchObject({ lastTransitionTime: '2026-01-02T03:04:25Z' });
    expect(sameConditions(broken, otherwise)).toBe(false);
  });
});

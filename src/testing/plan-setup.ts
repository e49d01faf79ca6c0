import type { ObservedPod } from '../../providers/contract/index.ts';
import { planContainers } from '../pod/plan/containers.ts';
import { EMPTY_MEMORY, type PodMemory } from '../pod/plan/memory.ts';
import type { Snapshot } from '../pod/plan/snapshot.ts';
import { makeObservedPod, makePod, POD_UID, START_MS } from './builders.ts';

/** Of a pod that was admitted and has its volumes. */
export const READY: PodMemory = { ...EMPTY_MEMORY, admission: { type: 'accepted' }, volumesDirty: false };
export const NOW = START_MS + 60_000;

/** The stored pod of `makePod`, with nothing on the backend yet. */
export function snapshot(overrides: Partial<Snapshot> = {}): Snapshot {
  return {
    uid: POD_UID,
    pod: makePod(),
    stop: undefined,
    observed: undefined,
    memory: READY,
    nowMs: NOW,
    refreshAtMs: undefined,
    changed: new Set(),
    unhealthy: new Map(),
    started: new Set(),
    hooks: new Map(),
    maxBackoffMs: 300_000,
    ...overrides,
  };
}

/** The plan as short texts: `start c#1`, `stop c#0 30s`. */
export function actions(overrides: Partial<Snapshot> = {}): string[] {
  return planContainers(snapshot(overrides)).actions.map((action) => {
    switch (action.type) {
      case 'pullImage':
        return `pull ${action.container}`;
      case 'startContainer':
        return `start ${action.container}#${action.attempt}`;
      case 'stopContainer':
        return `stop ${action.container}#${action.attempt} ${action.graceSeconds}s`;
      case 'beginStop':
        return `begin stop ${action.container}#${action.attempt} ${action.graceSeconds}s${action.preStop ? ' hook' : ''}`;
      case 'removeContainer':
        return `remove ${action.container}#${action.attempt}`;
      case 'ensureSandbox':
        return `sandbox ${action.attempt}`;
      case 'showBackOff':
        return `back-off ${action.container}`;
      default:
        return action.type;
    }
  });
}

export const sandbox = (...containers: ObservedPod['containers']): ObservedPod => makeObservedPod({ containers });

/** What a turn can do. Symbolic (names and attempts), so that a plan reads well in a test; specs are built when they run. */
export type ContainerAction =
  | { readonly type: 'ensureSandbox'; readonly attempt: number; readonly replaces: boolean }
  | { readonly type: 'pullImage'; readonly container: string }
  | { readonly type: 'startContainer'; readonly container: string; readonly attempt: number }
  | StopAction
  /** The stop begins, its signal comes later: the hook runs first, or others stop first. */
  | (Omit<StopAction, 'type'> & { readonly type: 'beginStop'; readonly preStop: boolean })
  | { readonly type: 'removeContainer'; readonly container: string; readonly attempt: number }
  | { readonly type: 'stopSandbox' }
  | { readonly type: 'removeSandbox' };

export interface StopAction {
  readonly type: 'stopContainer';
  readonly container: string;
  readonly attempt: number;
  /** 0 kills. */
  readonly graceSeconds: number;
  /** Words of the Killing event where the pod itself goes on. */
  readonly why?: string;
  /** The container starts again afterwards, whatever its policy says of the way it ended. */
  readonly restart?: RestartCause;
}

/** Why a container was stopped only to be started again: its definition changed, or a probe has given it up. */
export type RestartCause =
  | { readonly type: 'changed' }
  /** `exitBeforeMs`: when the run before had ended; the back-off of the restart counts from there (plan/restart.ts). */
  | { readonly type: 'unhealthy'; readonly exitBeforeMs?: number };

type UnitAction =
  | { readonly type: 'launchPod'; readonly attempt: number }
  | {
      readonly type: 'stopPod';
      readonly graceSeconds: number;
      /** Killing events of the containers for which the unit is stopped, where the pod itself goes on. */
      readonly why?: ReadonlyMap<string, string>;
      /** The unit is launched again afterwards, whatever the policies say of how its containers ended. */
      readonly restart?: RestartCause;
    }
  | { readonly type: 'removePod' };

/** Steps that do not depend on how the backend is driven. */
type CommonAction =
  | { readonly type: 'refreshVolumes' }
  /** What an ended incarnation has left as its message (reference 1.7). */
  | { readonly type: 'readMessage'; readonly container: string; readonly attempt: number }
  /** Shows CrashLoopBackOff: event and waiting reason, once per exit. */
  | { readonly type: 'showBackOff'; readonly container: string; readonly finishedAtMs: number }
  /** The pod is over for this reason, whatever its containers do: event, and Failed in the end. */
  | { readonly type: 'overrule'; readonly reason: string; readonly message: string }
  /** Waits until the API server has seen the pod with everything stopped, before its phase becomes terminal (oracle cases 055, 142). */
  | { readonly type: 'showStopped' }
  /** Waits until the API server has acknowledged the terminal status (reference 1.10.3: PATCH first, then DELETE). */
  | { readonly type: 'writeFinalStatus' }
  | { readonly type: 'deleteObject' }
  | { readonly type: 'forget' };

export type Action = ContainerAction | UnitAction | CommonAction;

export interface Plan {
  readonly actions: readonly Action[];
  /** Clock milliseconds at which the pod must be looked at even if nothing happens. */
  readonly wakeAtMs?: number;
  /** Nothing of the pod runs any more and nothing will: a terminal phase may be shown now (reference 1.10). */
  readonly finished?: true;
}

export function earliest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

export function plan(actions: readonly Action[], wakeAtMs?: number): Plan {
  return wakeAtMs === undefined ? { actions } : { actions, wakeAtMs };
}

import type { PodUid } from '../../providers/contract/index.ts';
import { formatPod, podUid } from '../model/pod.ts';
import type { Logger } from '../telemetry/logger.ts';
import { ChildAbort } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import { type HookStates, stopKey } from './plan/snapshot.ts';
import type { EventSink, HookControl, HookRequest, HookRunner } from './ports.ts';
import { containerPath } from './turn.ts';

export interface HooksOptions {
  readonly runner: HookRunner;
  readonly events: EventSink;
  /** A hook has ended: look at this pod again. */
  readonly notify: (uid: PodUid) => void;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info'>;
  /** Life of the node: ends all hooks. */
  readonly signal: AbortSignal;
}

interface PodHooks {
  readonly abort: ChildAbort;
  readonly states: Map<string, HookStates>;
}

const NONE: ReadonlyMap<string, HookStates> = new Map();
const EVENTS = {
  postStart: { reason: 'FailedPostStartHook', message: 'PostStartHook failed' },
  preStop: { reason: 'FailedPreStopHook', message: 'PreStopHook failed' },
} as const;

/** Hooks that run or have run, by pod. A process that restarts forgets them: what runs then may be begun a second time, as on the kubelet. */
export class Hooks implements HookControl {
  readonly #options: HooksOptions;
  readonly #pods = new Map<PodUid, PodHooks>();

  constructor(options: HooksOptions) {
    this.#options = options;
  }

  states(uid: PodUid): ReadonlyMap<string, HookStates> {
    return this.#pods.get(uid)?.states ?? NONE;
  }

  begin(hook: HookRequest): void {
    const uid = podUid(hook.pod);
    const pod = this.#pods.get(uid) ?? { abort: new ChildAbort(this.#options.signal), states: new Map() };
    this.#pods.set(uid, pod);
    const key = stopKey(hook.container.name, hook.attempt);
    if (pod.states.get(key)?.[hook.kind] !== undefined) return;
    pod.states.set(key, { ...pod.states.get(key), [hook.kind]: 'running' });
    // Rejects never: #run handles its failures.
    void this.#run(uid, pod, key, hook);
  }

  forget(uid: PodUid): void {
    this.#pods.get(uid)?.abort.abort(new Error('the pod is gone'));
    this.#pods.delete(uid);
  }

  async #run(uid: PodUid, pod: PodHooks, key: string, hook: HookRequest): Promise<void> {
    const { runner, events, log, clock, notify } = this.#options;
    const { kind, container, seconds } = hook;
    using call = new ChildAbort(pod.abort.signal);
    // What is late is left alone; the container is stopped over its head (reference 2.10).
    const cancel = seconds === undefined ? undefined : clock.timer(seconds * 1000, () => call.abort(new Error('late')));
    let failure: string | undefined;
    try {
      await runner.run(hook, { signal: call.signal });
    } catch (error: unknown) {
      if (pod.abort.signal.aborted) return;
      failure = errorMessage(error);
      log.info({ err: error, pod: formatPod(hook.pod), container: container.name, hook: kind }, 'hook failed');
      // Not the message: what the container printed may be secret (reference 2.11).
      if (!call.signal.aborted)
        events.pod(hook.pod, { type: 'Warning', ...EVENTS[kind], fieldPath: containerPath(hook.pod, container.name) });
    } finally {
      cancel?.();
    }
    const outcome = failure === undefined ? 'done' : 'failed';
    pod.states.set(key, {
      ...pod.states.get(key),
      [kind]: outcome,
      ...(failure !== undefined && kind === 'postStart' && { message: failure }),
    });
    if (this.#pods.get(uid) === pod) notify(uid);
  }
}

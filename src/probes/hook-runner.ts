import type { DialFacet, ExecFacet } from '../../providers/contract/index.ts';
import { type Container, formatPod, podUid } from '../model/pod.ts';
import type { EventSink, HookRunner as HookPort, HookRequest } from '../pod/ports.ts';
import type { Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import { goQuote } from '../util/go-quote.ts';
import { Dialer } from './handlers/dialing.ts';
import { runCommand } from './handlers/exec.ts';
import { requestOnce } from './handlers/http-hook.ts';

export interface HookRunnerOptions {
  /** Absent where the backend cannot: admission refuses pods that need it. */
  readonly exec?: ExecFacet;
  readonly dial?: DialFacet;
  readonly events: EventSink;
  readonly clock: Clock;
}

type Handler = NonNullable<NonNullable<Container['lifecycle']>['postStart']>;

/** Runs the handlers of lifecycle hooks (reference 2.11; kubelet: pkg/kubelet/lifecycle/handlers.go). */
export class HookRunner implements HookPort {
  readonly #options: HookRunnerOptions;

  constructor(options: HookRunnerOptions) {
    this.#options = options;
  }

  async run(hook: HookRequest, options: { readonly signal: AbortSignal }): Promise<void> {
    const { container, kind, pod } = hook;
    const handler = container.lifecycle?.[kind];
    if (handler === undefined) return;
    const about = `for Container ${goQuote(container.name)} in Pod ${goQuote(formatPod(pod))} failed - error`;
    try {
      await this.#handle(handler, hook, about, options);
    } catch (error: unknown) {
      if (options.signal.aborted) throw error;
      throw error instanceof HookFailure ? error : new HookFailure(errorMessage(error));
    }
  }

  async #handle(
    handler: Handler,
    hook: HookRequest,
    about: string,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<void> {
    if (handler.exec !== undefined) {
      await this.#exec(handler.exec.command ?? [], hook, about, signal);
    } else if (handler.httpGet !== undefined) {
      const { path = '' } = handler.httpGet;
      try {
        await this.#http(handler.httpGet, hook, signal);
      } catch (error: unknown) {
        throw new HookFailure(`HTTP lifecycle hook (${path}) ${about}: ${errorMessage(error)}`);
      }
    } else if (handler.sleep !== undefined) {
      await this.#options.clock.sleep(handler.sleep.seconds * 1000, { signal });
    } else {
      throw new HookFailure('Cannot run handler: invalid handler');
    }
  }

  async #exec(command: readonly string[], hook: HookRequest, about: string, signal: AbortSignal): Promise<void> {
    const { exec } = this.#options;
    if (exec === undefined) throw new HookFailure('the provider cannot run commands in containers');
    const ref = { podUid: podUid(hook.pod), container: hook.container.name, attempt: hook.attempt };
    const failed = (error: string, output: string): HookFailure =>
      new HookFailure(`Exec lifecycle hook ([${command.join(' ')}]) ${about}: ${error}, message: ${goQuote(output)}`);
    let result: Awaited<ReturnType<typeof runCommand>>;
    try {
      result = await runCommand(exec, ref, command, signal);
    } catch (error: unknown) {
      if (signal.aborted) throw error;
      throw failed(errorMessage(error), '');
    }
    const { code, output, stderr } = result;
    // The kubelet's words of a command that failed (kuberuntime: RunInContainer).
    if (code !== 0) throw failed(`command '${command.join(' ')}' exited with ${code}: ${stderr}`, output);
  }

  async #http(get: NonNullable<Handler['httpGet']>, hook: HookRequest, signal: AbortSignal): Promise<void> {
    const { dial, events } = this.#options;
    if (dial === undefined) throw new Error('the provider cannot connect to pods');
    const podIP = hook.podIPs[0] ?? '';
    if (!get.host && podIP === '') throw new Error('failed to find networking container');
    const dialer = new Dialer(dial, podUid(hook.pod));
    const target = { dialer, container: hook.container, podIP, userAgent: USER_AGENT, asks: 'hook' } as const;
    const fellBack = await requestOnce(get, target, signal);
    if (fellBack === undefined) return;
    const message = `request to HTTPS lifecycle hook ${fellBack} got HTTP response, retry with HTTP succeeded`;
    events.pod(hook.pod, { type: 'Warning', reason: 'LifecycleHTTPFallback', message });
  }
}

/** Also of the API version that we speak (reference 2.11). */
const USER_AGENT = 'kube-lifecycle/1.36';

/** Its message is what the status of the container shows. */
class HookFailure extends Error {
  override readonly name = 'HookFailure';
}

import type { PodProvider } from '../../providers/contract/index.ts';
import { podContainers } from '../model/containers.ts';
import { graceSeconds, restartPolicy } from '../model/pod.ts';
import { containerSpec } from './container-spec.ts';
import type { ExecutorDeps } from './executor-deps.ts';
import { lastUnitExitMs, UNIT } from './plan/unit.ts';
import type { SandboxStep } from './sandbox.ts';
import { advanceBackoff, containerPath, podOf, type Turn } from './turn.ts';

/** Starts a whole pod on a backend that sequences its containers itself. */
export class LaunchStep {
  readonly #deps: ExecutorDeps;
  readonly #sandbox: SandboxStep;

  constructor(deps: ExecutorDeps, sandbox: SandboxStep) {
    this.#deps = deps;
    this.#sandbox = sandbox;
  }

  async launch(provider: PodProvider, attempt: number, turn: Turn): Promise<void> {
    const { images, limit, clock, events } = this.#deps;
    const pod = podOf(turn.snapshot);
    const options = { signal: turn.signal };
    await this.#sandbox.attempt(turn, async () => {
      const sandbox = await this.#sandbox.complete(turn, attempt);
      const containers = await Promise.all(
        podContainers(pod)
          .filter(({ role }) => role !== 'ephemeral')
          .map(({ container: { name } }) => containerSpec(this.#deps, { pod, name, attempt, podIPs: [] }, options)),
      );
      const registryAuth = await images.auth(pod, options);
      const ending = { restartPolicy: restartPolicy(pod), graceSeconds: graceSeconds(pod) };
      const spec = { sandbox, containers, ...ending, registryAuth };
      await limit(() => provider.launchPod(spec, options));
      for (const { name } of containers) {
        events.pod(pod, {
          type: 'Normal',
          reason: 'Created',
          message: 'Container created',
          fieldPath: containerPath(pod, name),
        });
      }
      turn.memory = { ...turn.memory, volumes: sandbox.volumes, volumesDirty: false };
    });
    advanceBackoff(turn, UNIT, lastUnitExitMs(turn.snapshot.observed), clock.now());
  }
}

import type { ContainerSpec, Provider, SandboxSpec } from '../contract/index.ts';
import { NODE } from './harness.ts';
import { refOf, type World } from './world.ts';

/** One pod with one running container, on either kind. */
export async function runPod(
  provider: Provider,
  world: World,
  spec: ContainerSpec = world.container(),
  node = NODE,
): Promise<SandboxSpec> {
  const sandbox = world.sandbox(provider, {}, node);
  if (provider.kind === 'container') {
    await world.haveImage(provider);
    await provider.ensureSandbox(sandbox, world.options);
    await provider.startContainer(sandbox, spec, world.options);
  } else {
    await provider.launchPod(world.plan(sandbox, [spec]), world.options);
  }
  await world.until(provider, refOf(sandbox, spec), 'running');
  return sandbox;
}

import type { EnvEntry } from '../../providers/contract/index.ts';
import type { Service } from '../model/pod.ts';
import { errorMessage } from '../util/errors.ts';
import { ContainerConfigError } from './config-error.ts';
import { type EnvSurroundings, type EnvValue, envFromValues, sourceValue } from './env-sources.ts';
import { expand } from './expand.ts';
import { serviceVariables } from './service-env.ts';

export interface EnvInput extends EnvSurroundings {
  /** Of the pod's namespace and of `default`; others are ignored. Undefined until Services have been listed once. */
  readonly services: readonly Service[] | undefined;
}

/**
 * The final environment of a container, each name once (reference 10.1). HOSTNAME is not in it: backends derive it from the
 * sandbox's host name. Throws ContainerConfigError with the kubelet's text.
 */
export function composeEnv(input: EnvInput): readonly EnvEntry[] {
  const { pod, services } = input;
  const { enableServiceLinks } = pod.spec;
  if (enableServiceLinks === undefined) {
    throw new ContainerConfigError('nil pod.spec.enableServiceLinks encountered, cannot construct envvars');
  }
  if (services === undefined) {
    throw new ContainerConfigError('services have not yet been read at least once, cannot construct envvars');
  }
  const linked = serviceVariables(services, pod.metadata.namespace, enableServiceLinks);
  const own = ownVariables(input, linked);
  const rest = [...linked].filter(([name]) => !own.has(name)).map(([name, value]) => ({ name, value }));
  return [...[...own].map(([name, value]) => toEntry(name, value)), ...rest];
}

/** From `envFrom`, then `env`, which also sees the service variables (reference 10.2). */
function ownVariables(input: EnvInput, linked: ReadonlyMap<string, string>): ReadonlyMap<string, EnvValue> {
  const { container } = input;
  const own = new Map<string, EnvValue>();
  try {
    for (const source of container.envFrom ?? []) {
      for (const [name, value] of envFromValues(source, input.objects)) own.set(name, value);
    }
    for (const { name, value = '', valueFrom } of container.env ?? []) {
      const found =
        value !== '' || valueFrom === undefined ? expanded(value, own, linked) : sourceValue(valueFrom, input);
      if (found !== undefined) own.set(name, found);
    }
  } catch (error: unknown) {
    if (error instanceof ContainerConfigError) throw error;
    // An object that the API server would not give, a quantity that is none: the kubelet reports all of them alike.
    throw new ContainerConfigError(errorMessage(error), { cause: error });
  }
  return own;
}

/** What is made with a secret is one. */
function expanded(text: string, own: ReadonlyMap<string, EnvValue>, linked: ReadonlyMap<string, string>): EnvValue {
  let sensitive = false;
  const value = expand(text, (name) => {
    const found = own.get(name);
    if (found?.sensitive === true) sensitive = true;
    return found?.value ?? linked.get(name);
  });
  return { value, sensitive };
}

function toEntry(name: string, { value, sensitive }: EnvValue): EnvEntry {
  return sensitive ? { name, value, sensitive } : { name, value };
}

import { isProviderError, type Provider } from '../../providers/contract/index.ts';

/** Told when a call of the provider has ended. */
export interface CallObserver {
  called(method: string, operation: string | undefined, seconds: number, code: string | undefined): void;
}

/** Asynchronous methods of a provider and its facets, and what the kubelet calls the same thing (reference 14.2). */
const OPERATIONS: ReadonlyMap<string, string | undefined> = new Map<string, string | undefined>([
  ['describeHost', 'status'],
  ['list', 'list_podsandbox'],
  ['inspect', 'podsandbox_status'],
  ['ensureSandbox', 'run_podsandbox'],
  ['startContainer', 'start_container'],
  ['stopContainer', 'stop_container'],
  ['removeContainer', 'remove_container'],
  ['stopSandbox', 'stop_podsandbox'],
  ['removeSandbox', 'remove_podsandbox'],
  ['launchPod', 'run_podsandbox'],
  ['stopPod', 'stop_podsandbox'],
  ['removePod', 'remove_podsandbox'],
  ['updateFiles', undefined],
  ['readVolumeFile', undefined],
  ['images.imagePresent', 'image_status'],
  ['images.pullImage', 'pull_image'],
  ['images.listImages', 'list_images'],
  ['images.removeImage', 'remove_image'],
  ['exec.exec', 'exec'],
  ['attach.attach', 'attach'],
  ['dial.dial', 'port_forward'],
  ['files.readFile', undefined],
  ['stats.usage', 'list_podsandbox_stats'],
  ['stats.storage', 'list_container_stats'],
  ['stats.host', 'image_fs_info'],
]);
const FACETS: ReadonlySet<string> = new Set(['images', 'exec', 'attach', 'dial', 'files', 'stats']);

/** The same provider, whose asynchronous calls are timed. Nothing else about it changes. */
export function instrumentProvider<P extends Provider>(provider: P, observer: CallObserver, now: () => number): P {
  return timed(provider, '', observer, now);
}

function timed<T extends object>(target: T, prefix: string, observer: CallObserver, now: () => number): T {
  const wrapped = new Map<PropertyKey, unknown>();
  return new Proxy(target, {
    get(object, key) {
      const known = wrapped.get(key);
      if (known !== undefined) return known;
      const value: unknown = Reflect.get(object, key, object);
      const method = `${prefix}${String(key)}`;
      let result = value;
      if (prefix === '' && FACETS.has(method) && typeof value === 'object' && value !== null)
        result = timed(value, `${method}.`, observer, now);
      else if (typeof value === 'function') result = bind(value, object, method, observer, now);
      // What may appear or change later is read anew each time.
      if (result !== value) wrapped.set(key, result);
      return result;
    },
  });
}

function bind(value: object, object: object, method: string, observer: CallObserver, now: () => number): unknown {
  // Any function takes any list of arguments, which is passed on as it came.
  const call = (args: unknown[]): unknown => Reflect.apply(value as (...args: unknown[]) => unknown, object, args);
  if (!OPERATIONS.has(method)) return (...args: unknown[]) => call(args);
  const operation = OPERATIONS.get(method);
  return async (...args: unknown[]) => {
    const startMs = now();
    try {
      const result = await call(args);
      observer.called(method, operation, (now() - startMs) / 1000, undefined);
      return result;
    } catch (error) {
      const code = isProviderError(error) ? error.code : isAborted(error) ? 'Aborted' : 'Unknown';
      observer.called(method, operation, (now() - startMs) / 1000, code);
      throw error;
    }
  };
}

function isAborted(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

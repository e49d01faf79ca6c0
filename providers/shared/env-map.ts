import type { EnvEntry } from '../contract/index.ts';

/** Values by name: each once, at the place of its first entry and with the value of its last. */
export function envMap(env: readonly EnvEntry[]): ReadonlyMap<string, string> {
  return new Map(env.map(({ name, value }) => [name, value]));
}

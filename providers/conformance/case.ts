import type { Provider } from '../contract/index.ts';
import type { ConformanceHarness } from './harness.ts';
import type { World } from './world.ts';

/** Why a case says nothing about this provider, or undefined when it does. Judged by traits, facets and the harness only. */
export type Excuse<P extends Provider = Provider> = (provider: P, harness: ConformanceHarness) => string | undefined;

export interface Case<P extends Provider> {
  readonly name: string;
  readonly unless?: Excuse<P>;
  run(provider: P, world: World): Promise<void>;
}

export const needsShell: Excuse = (_, harness) => (harness.executesShell ? undefined : 'commands are not really run');

export const needsLogs: Excuse = (provider) => (provider.logs === undefined ? 'no logs facet' : undefined);

/** What is seen from inside a container comes out through its log. */
export const needsShellAndLogs: Excuse = (provider, harness) =>
  needsShell(provider, harness) ?? needsLogs(provider, harness);

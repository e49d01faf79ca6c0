import { afterAll, beforeAll, describe, test } from 'vitest';
import type { ContainerProvider, PodProvider, Provider } from '../contract/index.ts';
import { attachCases } from './attach.ts';
import type { Case } from './case.ts';
import { containerContent } from './container-content.ts';
import { containerDriving } from './container-driving.ts';
import { containerImages } from './container-images.ts';
import { containerLogs } from './container-logs.ts';
import { containerStats } from './container-stats.ts';
import { containerStopping } from './container-stopping.ts';
import { containerVolumes } from './container-volumes.ts';
import { dialCases } from './dial.ts';
import { execCases } from './exec.ts';
import { type ConformanceHarness, NODE } from './harness.ts';
import { hostPaths } from './host-paths.ts';
import { messageCases } from './messages.ts';
import { namespaces } from './namespaces.ts';
import { observing } from './observing.ts';
import { podDriving } from './pod-driving.ts';
import { World } from './world.ts';

export interface ConformanceOptions {
  /** Cases side by side: quicker on a real backend, wrong where cases share a clock that they move. */
  readonly concurrent?: boolean;
  /** Only these groups, for another setting of a provider that changes nothing else. */
  readonly only?: readonly string[];
}

/** What every provider must do. The kind is said beforehand, so that only the cases of that kind are counted. */
export function conformance(
  name: string,
  kind: Provider['kind'],
  makeHarness: () => Promise<ConformanceHarness>,
  { concurrent = false, only }: ConformanceOptions = {},
): void {
  describe(`conformance of ${name}`, { concurrent }, () => {
    let harness: ConformanceHarness;
    let opened: Provider;

    beforeAll(async () => {
      harness = await makeHarness();
      opened = await harness.open(NODE);
      // Some traits are known only after a look at the backend.
      await opened.describeHost({ signal: new AbortController().signal });
    });
    afterAll(async () => {
      await opened?.close();
      await harness?.dispose();
    });

    const group = <P extends Provider>(
      title: string,
      cases: readonly Case<P>[],
      narrow: (provider: Provider) => P,
    ): void => {
      if (only?.includes(title) === false) return;
      describe(title, () => {
        for (const { name: caseName, unless, run } of cases)
          test(caseName, async (context) => {
            const provider = narrow(opened);
            const world = new World(harness);
            try {
              const excuse = unless?.(provider, harness);
              if (excuse !== undefined) return context.skip(excuse);
              await run(provider, world);
            } finally {
              await world.dispose();
            }
          });
      });
    };

    group('observing', observing, (provider) => provider);
    group('running commands', execCases, (provider) => provider);
    group('attaching', attachCases, (provider) => provider);
    group('dialling', dialCases, (provider) => provider);
    if (kind === 'container') {
      group('driving containers', containerDriving, asContainerProvider);
      group('stopping and removing', containerStopping, asContainerProvider);
      group('images', containerImages, asContainerProvider);
      group('logs', containerLogs, asContainerProvider);
      group('stats', containerStats, asContainerProvider);
      group('what a container sees', containerContent, asContainerProvider);
      group('volumes', containerVolumes, asContainerProvider);
      group('termination messages', messageCases, asContainerProvider);
      group('namespaces', namespaces, asContainerProvider);
      group('paths of the host', hostPaths, asContainerProvider);
    } else {
      group('driving pods', podDriving, asPodProvider);
    }
  });
}

function asContainerProvider(provider: Provider): ContainerProvider {
  if (provider.kind !== 'container') throw new Error('not a container-level provider');
  return provider;
}

function asPodProvider(provider: Provider): PodProvider {
  if (provider.kind !== 'pod') throw new Error('not a pod-level provider');
  return provider;
}

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { leftOnEngine } from './parts/docker-cleanup.ts';
import type { Kube } from './parts/kube.ts';
import type { Outrigger } from './parts/outrigger.ts';
import { TestBed } from './parts/test-bed.ts';
import { waitFor } from './parts/wait.ts';
import { ABSENT_IMAGE, type Backend, type Need, PATIENCE_MS, Scene, type SceneOptions } from './scene.ts';

interface ProviderCase extends Backend {
  /** In the names of suites and nodes. */
  readonly name: string;
}

const pullErrors = { [ABSENT_IMAGE]: { code: 'ImageNotFound', message: 'connect: connection refused' } };

/** What `realContainers` means, for suites that bring an engine or a control plane of their own. */
export const REAL: ProviderCase = {
  name: 'docker',
  provider: 'docker',
  offers: ['realContainers', 'imagePulls', 'containerRestarts', 'outlivesProcess'],
};

/** The provider to take where it does not matter: in memory, with containers one by one. */
export const SIMULATED: ProviderCase = {
  name: 'fake',
  provider: 'fake',
  providerConfig: { kind: 'container', pullErrors },
  offers: ['imagePulls', 'containerRestarts'],
};

const CASES: readonly ProviderCase[] = [
  REAL,
  SIMULATED,
  { name: 'fake-pod', provider: 'fake', providerConfig: { kind: 'pod' }, offers: [] },
];

type Body = (scene: Scene) => Promise<void>;

export interface Suite {
  /** One test in a namespace of its own, which goes when the test ends. Tests of a suite run side by side. */
  test(name: string, body: Body, options?: { readonly needs?: readonly Need[]; readonly timeoutMs?: number }): void;
}

export interface MatrixOptions {
  readonly needs?: readonly Need[];
  /** Further flags of the node. */
  readonly args?: readonly string[];
}

/** Scenario × provider: a suite per provider that offers what is needed, each with one node for all its tests, side by side. */
export function matrix(subject: string, define: (suite: Suite) => void, { needs = [], args = [] }: MatrixOptions = {}) {
  for (const provider of CASES) {
    if (!offersAll(provider, needs)) continue;
    describe.concurrent(`${subject} on ${provider.name}`, () => {
      let bed: TestBed | undefined;
      let outrigger: Outrigger | undefined;
      beforeAll(async () => {
        bed = await TestBed.open(inject('testBed'));
        outrigger = await bed.startNode(bed.nodeName(`${slug(subject)}-${provider.name}`), {
          provider: provider.provider,
          args,
          ...(provider.providerConfig === undefined ? {} : { providerConfig: provider.providerConfig }),
        });
      });
      afterAll(async () => {
        if (bed === undefined) return;
        try {
          if (outrigger !== undefined) await expectCleanNode(bed, outrigger);
        } finally {
          await bed.close();
        }
      });
      define({
        test(name, body, options = {}) {
          if (!offersAll(provider, options.needs ?? [])) return;
          const run = async (): Promise<void> => {
            if (bed === undefined || outrigger === undefined) throw new Error('the node did not start');
            await inNamespace({ bed, outrigger, backend: provider }, body);
          };
          it(name, run, options.timeoutMs);
        },
      });
    });
  }
}

function offersAll({ offers }: Backend, needs: readonly Need[]): boolean {
  return needs.every((need) => offers.includes(need));
}

function slug(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}

/** Gives the test a namespace and takes it away again, with all that is in it. */
export async function inNamespace(options: Omit<SceneOptions, 'namespace'>, body: Body): Promise<void> {
  const { kube } = { kube: options.bed.kube, ...options };
  const namespace = await kube.createNamespace();
  try {
    await body(new Scene({ ...options, namespace }));
  } catch (error) {
    await kube.delete('Namespace', namespace).catch(() => undefined); // the error that counts is the first
    throw error;
  }
  await kube.delete('Namespace', namespace);
}

/** The tests are over and their namespaces deleted: soon no pod may be left on the node, and nothing of any pod on the engine. */
export async function expectCleanNode(bed: TestBed, { nodeName }: NamedNode, kube = bed.kube, docker = bed.docker) {
  await podsGone(nodeName, kube);
  const leftOfPods = async (): Promise<string[]> =>
    (await leftOnEngine(docker, [nodeName])).filter((line) => !line.startsWith('network '));
  await waitFor(async () => (await leftOfPods()).length === 0, {
    what: `the engine to hold nothing of the pods of ${nodeName}`,
    timeoutMs: PATIENCE_MS,
    detail: async () => (await leftOfPods()).join('\n'),
  });
  expect(await leftOfPods()).toEqual([]);
}

type NamedNode = Pick<Outrigger, 'nodeName'>;

/** Waits until no pod is bound to the node. */
export async function podsGone(nodeName: string, kube: Kube): Promise<void> {
  const left = () => kube.list('Pod', undefined, { fieldSelector: `spec.nodeName=${nodeName}` });
  await waitFor(async () => (await left()).length === 0, {
    what: `the pods of ${nodeName} to be gone`,
    timeoutMs: PATIENCE_MS,
    detail: async () => (await left()).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).join('\n'),
  });
}

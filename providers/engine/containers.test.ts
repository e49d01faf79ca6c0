import type Docker from 'dockerode';
import { expect, it } from 'vitest';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { makeContainerSpec, makeSandboxSpec } from '../shared/testing/specs.ts';
import { EngineCalls } from './calls.ts';
import { Containers } from './containers.ts';
import { SubPaths } from './sub-paths.ts';

const { signal } = new AbortController();
const OWNER = { 'outrigger/node': 'n' };
const SETTINGS = { sandboxImage: 'pause', logMaxSize: '10m', logMaxFiles: 5, seccompRoot: '/profiles' };

const sandbox = makeSandboxSpec();
const container = makeContainerSpec();

const httpError = (statusCode: number) => Object.assign(new Error(`HTTP ${statusCode}`), { statusCode });

/** An engine in which the sandbox runs, and another creation holds the name of the container without being shown yet. */
function engineWith(shownAfter: number, created: () => void) {
  const clock = new FakeClock();
  let looks = 0;
  const taken = { Id: 'taken', Config: { Labels: OWNER }, State: { Status: 'running', Error: '', Running: true } };
  const inspect = async (id: string) => {
    if (id.includes('_POD_')) return { ...taken, Id: 'sandbox', Mounts: [] };
    if (++looks <= shownAfter) throw httpError(404);
    return taken;
  };
  const docker = {
    getContainer: (id: string) => ({ inspect: () => inspect(id) }),
    createContainer: async () => {
      created();
      throw httpError(409);
    },
  } as unknown as Docker; // stands for the calls of the client that are made here
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const context = { nodeName: 'n', ownerLabels: OWNER, log, clock, signal };
  return { clock, engine: { docker, calls: new EngineCalls(clock, 30_000), context } };
}

it('a start that meets a creation under way waits until the engine shows it, and takes it for its own', async () => {
  let asked = 0;
  const { clock, engine } = engineWith(3, () => asked++);
  const start = new Containers(engine, SETTINGS, new SubPaths(engine, () => undefined)).start(sandbox, container, {
    signal,
  });
  await clock.advance(1_000);
  await start;
  expect(asked).toBe(4);
});

it('a name that is taken by nothing that the engine shows is a failure in the end', async () => {
  const { clock, engine } = engineWith(Number.POSITIVE_INFINITY, () => {});
  const start = new Containers(engine, SETTINGS, new SubPaths(engine, () => undefined)).start(sandbox, container, {
    signal,
  });
  const failed = expect(start).rejects.toMatchObject({ reason: 'CreateContainerError' });
  for (let seconds = 0; seconds < 30; seconds++) await clock.advance(1_000);
  await failed;
});

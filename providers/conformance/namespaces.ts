import { expect } from 'vitest';
import type { ContainerProvider, ProviderTraits } from '../contract/index.ts';
import { type Case, type Excuse, needsShellAndLogs } from './case.ts';

const needs =
  (can: (traits: ProviderTraits) => boolean, what: string): Excuse =>
  (provider, harness) =>
    can(provider.traits) ? needsShellAndLogs(provider, harness) : what;

/** Whether this process is the first of its namespace, and how the first one is called. */
const FIRST = '[ $$ = 1 ] && echo first || echo "after $(cat /proc/1/comm)"';

export const namespaces: readonly Case<ContainerProvider>[] = [
  {
    name: 'gives a container processes of its own, unless the pod shares them',
    unless: needs(({ sharePidNamespace }) => sharePidNamespace, 'no shared processes'),
    async run(provider, world) {
      const alone = await world.ready(provider);
      expect((await world.runToEnd(provider, alone, world.shell(FIRST))).output).toEqual(['first']);
      const shared = await world.ready(provider, { sharePidNamespace: true });
      expect((await world.runToEnd(provider, shared, world.shell(FIRST))).output).toEqual([
        expect.stringMatching(/^after /),
      ]);
    },
  },
  {
    name: 'shows a container the processes of its host',
    unless: needs(({ hostPid }) => hostPid, 'no processes of the host'),
    async run(provider, world) {
      const sandbox = await world.ready(provider, { hostPid: true });
      expect((await world.runToEnd(provider, sandbox, world.shell(FIRST))).output).toEqual([
        expect.stringMatching(/^after /),
      ]);
    },
  },
  {
    name: 'puts a debugger among the processes of its target',
    unless: needs(({ ephemeralTarget }) => ephemeralTarget, 'no targets'),
    async run(provider, world) {
      const sandbox = await world.ready(provider);
      await provider.startContainer(sandbox, world.container(), world.options);
      const debug = world.shell("tr '\\0' ' ' < /proc/1/cmdline", {
        name: 'debug',
        role: 'ephemeral',
        targetContainer: 'main',
      });
      expect((await world.runToEnd(provider, sandbox, debug)).output.map((line) => line.trim())).toEqual([
        'sleep 3600',
      ]);
    },
  },
  {
    name: 'says that a target never was',
    unless: ({ traits }) => (traits.ephemeralTarget ? undefined : 'no targets'),
    async run(provider, world) {
      const sandbox = await world.ready(provider);
      const debug = world.container({ name: 'debug', role: 'ephemeral', targetContainer: 'none' });
      await expect(provider.startContainer(sandbox, debug, world.options)).rejects.toMatchObject({
        reason: 'CreateContainerConfigError',
        message: 'unable to find target container none',
      });
    },
  },
  {
    name: 'sets sysctls of the network and of IPC for all containers of a pod',
    unless: needs(({ sysctls }) => sysctls, 'no sysctls'),
    async run(provider, world) {
      const sysctls = { 'net.ipv4.ip_unprivileged_port_start': '777', 'kernel.shm_rmid_forced': '1' };
      const sandbox = await world.ready(provider, { sysctls });
      const script = 'cat /proc/sys/net/ipv4/ip_unprivileged_port_start /proc/sys/kernel/shm_rmid_forced';
      expect((await world.runToEnd(provider, sandbox, world.shell(script))).output).toEqual(['777', '1']);
    },
  },
  {
    name: 'puts a pod on the network of its host, without a network of its own',
    unless: needs(({ network }) => network.hostNetwork, 'no network of the host'),
    async run(provider, world) {
      const network = { mode: 'host', ports: [], hostAliases: [] } as const;
      const [first, second] = [
        await world.ready(provider, { hostname: '', network }),
        await world.ready(provider, { hostname: '', network }),
      ];
      const seen = async (sandbox: typeof first): Promise<string[]> =>
        (await world.runToEnd(provider, sandbox, world.shell('readlink /proc/self/ns/net; hostname'))).output;
      expect(await seen(first)).toEqual(await seen(second));
    },
  },
];

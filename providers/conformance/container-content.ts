import { expect } from 'vitest';
import type { ContainerProvider, ContainerSpec, SecuritySpec } from '../contract/index.ts';
import { type Case, type Excuse, needsShell, needsShellAndLogs } from './case.ts';
import { refOf, type World } from './world.ts';

async function outputOf(provider: ContainerProvider, world: World, spec: ContainerSpec): Promise<string[]> {
  const sandbox = await world.ready(provider);
  return (await world.runToEnd(provider, sandbox, spec)).output;
}

function enforces(...fields: readonly (keyof SecuritySpec)[]): Excuse {
  return (provider, harness) => {
    const missing = fields.find((field) => !provider.traits.security.has(field));
    return missing === undefined ? needsShellAndLogs(provider, harness) : `security.${missing} is not enforced`;
  };
}

const needsLimits: Excuse = (provider, harness) =>
  harness.enforcesLimits ? needsShell(provider, harness) : 'limits are not enforced';

export const containerContent: readonly Case<ContainerProvider>[] = [
  {
    name: 'runs command followed by args, every word as it is',
    unless: needsShellAndLogs,
    run: async (provider, world) => {
      const spec = world.container({
        command: ['sh', '-c', 'for word; do echo "[$word]"; done', 'sh'],
        args: ['a b', '', '$HOME', "it's", '*', '$(X)'],
      });
      expect(await outputOf(provider, world, spec)).toEqual(['[a b]', '[]', '[$HOME]', "[it's]", '[*]', '[$(X)]']);
    },
  },
  {
    name: "keeps the image's entrypoint when only args are given",
    unless: needsShellAndLogs,
    run: async (provider, world) => {
      // The shell image has no entrypoint, or one that passes a command through.
      const { command: _, ...spec } = world.container({ args: ['echo', 'from args'] });
      expect(await outputOf(provider, world, spec)).toEqual(['from args']);
    },
  },
  {
    name: 'gives environment values literally; a later entry wins',
    unless: needsShellAndLogs,
    run: async (provider, world) => {
      const spec = world.shell('printf "%s\\n" "$A" "$B" "$C" "[$D]"', {
        env: [
          { name: 'A', value: 'first' },
          { name: 'B', value: '$A $(A) `id` "quoted" \\ back' },
          { name: 'C', value: 'a=b=c' },
          { name: 'D', value: '' },
          { name: 'A', value: 'second', sensitive: true },
        ],
      });
      expect(await outputOf(provider, world, spec)).toEqual(['second', '$A $(A) `id` "quoted" \\ back', 'a=b=c', '[]']);
    },
  },
  {
    name: 'keeps the line ends of an environment value',
    unless: needsShellAndLogs,
    run: async (provider, world) => {
      const spec = world.shell('echo "$TEXT"', { env: [{ name: 'TEXT', value: 'one\ntwo' }] });
      expect(await outputOf(provider, world, spec)).toEqual(['one', 'two']);
    },
  },
  {
    name: 'starts in the working directory asked for',
    unless: needsShellAndLogs,
    run: async (provider, world) => {
      expect(await outputOf(provider, world, world.shell('pwd', { workingDir: '/tmp' }))).toEqual(['/tmp']);
    },
  },
  {
    name: 'has the hostname of its pod',
    unless: needsShellAndLogs,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider, { hostname: 'web-0' });
      const { output } = await world.runToEnd(provider, sandbox, world.shell('hostname'));
      expect(output).toEqual(['web-0']);
    },
  },
  {
    name: 'shares one address between the containers of a pod, and it is the one reported',
    unless: (provider, harness) =>
      provider.traits.network.sharedNamespace ? needsShellAndLogs(provider, harness) : 'no shared network namespace',
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const script = `ip -4 -o addr show scope global | sed 's/.*inet \\([0-9.]*\\).*/\\1/'`;
      const outputs: string[][] = [];
      for (const name of ['one', 'two'])
        outputs.push((await world.runToEnd(provider, sandbox, world.shell(script, { name }))).output);
      const { ips } = await world.pod(provider, sandbox.pod.uid);
      expect(outputs).toEqual([[...ips], [...ips]]);
    },
  },
  {
    name: 'lets containers of a pod meet on localhost',
    unless: (provider, harness) =>
      provider.traits.network.sharedNamespace ? needsShellAndLogs(provider, harness) : 'no shared network namespace',
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const listen = world.shell('echo hello from the neighbour | nc -l -p 8099', { name: 'listen' });
      await provider.startContainer(sandbox, listen, world.options);
      await world.until(provider, refOf(sandbox, listen), 'running');
      const script =
        'for i in 1 2 3 4 5 6 7 8 9 10; do nc 127.0.0.1 8099 </dev/null && exit 0; sleep 0.3; done; exit 1';
      const { output } = await world.runToEnd(provider, sandbox, world.shell(script, { name: 'ask' }));
      expect(output).toContain('hello from the neighbour');
    },
  },
  {
    name: 'puts every pod on the network of its node',
    unless: (provider) => (provider.traits.network.subnet === 'required' ? undefined : 'no pod network per node'),
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const [ip] = (await world.pod(provider, sandbox.pod.uid)).ips;
      // The harness gives /24 networks.
      expect(ip?.split('.').slice(0, 3)).toEqual(sandbox.network.subnet?.split('.').slice(0, 3));
    },
  },
  {
    name: 'runs as the user and group asked for',
    unless: enforces('runAsUser', 'runAsGroup'),
    run: async (provider, world) => {
      const spec = world.shell('id -u; id -g', { security: { runAsUser: 1234, runAsGroup: 2345 } });
      expect(await outputOf(provider, world, spec)).toEqual(['1234', '2345']);
    },
  },
  {
    name: 'adds supplemental groups',
    unless: enforces('supplementalGroups'),
    run: async (provider, world) => {
      const spec = world.shell('id -G', { security: { runAsUser: 1234, supplementalGroups: [4000, 5000] } });
      const [groups] = await outputOf(provider, world, spec);
      expect(groups?.split(' ')).toEqual(expect.arrayContaining(['4000', '5000']));
    },
  },
  {
    name: 'keeps the root file system read-only when asked',
    unless: enforces('readOnlyRootFilesystem'),
    run: async (provider, world) => {
      const spec = world.shell('touch /new 2>/dev/null && echo written || echo refused', {
        security: { readOnlyRootFilesystem: true },
      });
      expect(await outputOf(provider, world, spec)).toEqual(['refused']);
    },
  },
  {
    name: 'drops capabilities',
    unless: enforces('dropCapabilities'),
    run: async (provider, world) => {
      const spec = world.shell("sed -n 's/^CapEff:\\t//p' /proc/self/status", {
        security: { dropCapabilities: ['ALL'] },
      });
      expect(await outputOf(provider, world, spec)).toEqual(['0000000000000000']);
    },
  },
  {
    name: 'adds capabilities',
    unless: enforces('addCapabilities'),
    run: async (provider, world) => {
      const spec = world.shell("sed -n 's/^CapEff:\\t//p' /proc/self/status", {
        security: { dropCapabilities: ['ALL'], addCapabilities: ['NET_ADMIN'] },
      });
      expect(await outputOf(provider, world, spec)).toEqual(['0000000000001000']);
    },
  },
  {
    name: 'forbids gaining privileges when asked',
    unless: enforces('allowPrivilegeEscalation'),
    run: async (provider, world) => {
      const read = "sed -n 's/^NoNewPrivs:\\t//p' /proc/self/status";
      const spec = world.shell(read, { security: { allowPrivilegeEscalation: false } });
      expect(await outputOf(provider, world, spec)).toEqual(['1']);
    },
  },
  {
    name: 'kills a container that exceeds its memory limit, and says that this was the reason',
    unless: needsLimits,
    run: async (provider, world) => {
      const sandbox = await world.ready(provider);
      const spec = world.container({
        // tail keeps the line it is reading, and the zeros have no line end. The container outlives it for a moment: an engine
        // may lose the kernel's word about a kill that ends the container itself, since its cgroup is gone then (docs/deviations.md).
        command: ['sh', '-c', 'tail /dev/zero; sleep 1; exit 137'],
        resources: { memoryLimitBytes: 32 * 2 ** 20 },
      });
      await provider.startContainer(sandbox, spec, world.options);
      const { state } = await world.until(provider, refOf(sandbox, spec), 'exited');
      expect(state).toMatchObject({ exitCode: 137, oomKilled: true });
    },
  },
  {
    name: 'limits the number of processes',
    unless: (provider, harness) => needsLimits(provider, harness) ?? needsShellAndLogs(provider, harness),
    run: async (provider, world) => {
      const script = 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do sleep 5 & done; echo all started';
      const free = await outputOf(provider, world, world.shell(script));
      expect(free).toEqual(['all started']);
      const limited = await outputOf(provider, world, world.shell(script, { resources: { pidsLimit: 8 } }));
      expect(limited).not.toContain('all started');
    },
  },
];

import type Docker from 'dockerode';
import {
  type CallOptions,
  type ContainerSpec,
  type Labels,
  ProviderError,
  type SandboxSpec,
} from '../contract/index.ts';
import { hostNetworkHostsFile, hostsFile, resolvConf } from '../shared/network-files.ts';
import { type TarEntry, writeTar } from '../shared/tar.ts';
import { encodeUnit } from '../shared/unit-labels.ts';
import { volumeName } from '../shared/unit-names.ts';
import { type Engine, SLOW_CALL_MS } from './engine.ts';
import { readArchive } from './read-archive.ts';
import { inspectContainer } from './units.ts';

/** No volume of a pod has a dot in its name. */
const VOLUME = '.network';
/** Where the sandbox has the files that this provider keeps for a pod, those of message-files.ts too. */
export const MANAGED_ROOT = '/outrigger/network';
const HOSTS = 'hosts';
const RESOLVER = 'resolv.conf';
const MAX_BYTES = 10 * 1024 * 1024;

/** Where an engine's own resolver listens in every pod network, and what it makes of the host's resolv.conf there. */
const EMBEDDED = '127.0.0.11';
export const EMBEDDED_RESOLV_CONF = `nameserver ${EMBEDDED}\noptions ndots:0\n`;

/** The sandbox holds the files of the pod about names in a volume, from which its containers mount them. */
export function networkFilesMount(spec: SandboxSpec, owner: Labels): Docker.MountSettings {
  return {
    Type: 'volume',
    Source: volumeName(spec.pod.uid, VOLUME),
    Target: MANAGED_ROOT,
    VolumeOptions: {
      NoCopy: true,
      Labels: encodeUnit({ kind: 'volume', pod: spec.pod, volume: VOLUME }, {}, owner),
      DriverConfig: { Name: 'local', Options: {} },
    },
  };
}

/**
 * Mounts over the engine's own /etc/hosts and /etc/resolv.conf, which know nothing of Kubernetes. All containers share the files, as
 * on the kubelet; one that mounts something there itself keeps that (reference 10.7). `held` are the sandbox's mounts: an engine
 * tells where on its host a volume lies, also one that is far away. A sandbox of an earlier version has no such files.
 */
export function networkFileMounts(
  { mounts, security }: ContainerSpec,
  held: readonly { readonly Destination: string; readonly Source: string }[],
): Docker.MountSettings[] {
  const root = held.find(({ Destination }) => Destination === MANAGED_ROOT)?.Source;
  if (root === undefined) return [];
  const files = [
    { name: HOSTS, readOnly: false },
    { name: RESOLVER, readOnly: security.readOnlyRootFilesystem === true },
  ];
  return files
    .map(
      ({ name, readOnly }): Docker.MountSettings => ({
        Type: 'bind',
        Source: `${root}/${name}`,
        Target: `/etc/${name}`,
        ReadOnly: readOnly,
      }),
    )
    .filter(({ Target }) => !mounts.some(({ path }) => path.replace(/\/+$/, '') === Target));
}

/** Writes the files into a sandbox that runs, since only then its addresses are known. */
export async function writeNetworkFiles(
  engine: Engine,
  sandboxId: string,
  { network }: SandboxSpec,
  options: CallOptions,
): Promise<void> {
  const ofEngine = (path: string): Promise<string> => readText(engine, sandboxId, path, options);
  const isHost = network.mode === 'host';
  const hosts = isHost
    ? hostNetworkHostsFile(network, await ofEngine('/etc/hosts'))
    : hostsFile(network, await addressesOf(engine, sandboxId, options));
  const { dns } = network;
  // The host's network has no embedded resolver.
  const isOurs = dns !== undefined && !(isHost && dns.servers.includes(EMBEDDED));
  const resolver = isOurs ? resolvConf(dns) : await ofEngine('/etc/resolv.conf');
  const entries = [
    { path: HOSTS, text: hosts },
    { path: RESOLVER, text: resolver },
  ].map(({ path, text }): TarEntry => ({ type: 'file', path, mode: 0o644, data: Buffer.from(text) }));
  const tar = writeTar(entries, engine.context.clock.now() / 1000);
  await engine.calls.call('write files', { ...options, timeoutMs: SLOW_CALL_MS }, () =>
    engine.docker.getContainer(sandboxId).putArchive(tar, { path: MANAGED_ROOT }),
  );
}

async function addressesOf(engine: Engine, sandboxId: string, options: CallOptions): Promise<readonly string[]> {
  const info = await inspectContainer(engine, sandboxId, options);
  const networks = Object.values(info?.NetworkSettings.Networks ?? {});
  return networks
    .flatMap(({ IPAddress, GlobalIPv6Address }) => [IPAddress, GlobalIPv6Address])
    .filter((address) => address !== undefined && address !== '');
}

async function readText(engine: Engine, sandboxId: string, path: string, options: CallOptions): Promise<string> {
  const [entry] = (await readArchive(engine, sandboxId, path, MAX_BYTES, options)) ?? [];
  if (entry?.type !== 'file') throw new ProviderError('Internal', `the engine gave the sandbox no ${path}`);
  return Buffer.from(entry.data).toString('utf8');
}

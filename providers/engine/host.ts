import type { CallOptions, HostReport } from '../contract/index.ts';
import { mapArch } from '../shared/arch.ts';
import type { Engine } from './engine.ts';
import { EMBEDDED_RESOLV_CONF } from './network-files.ts';

/** What the engine cannot tell about its machine; whoever can see that machine supplies it. */
export interface HostReader {
  /** Address of the machine that runs the pods. */
  address(): Promise<string | undefined>;
  bootId(): Promise<string | undefined>;
  systemUuid(): Promise<string | undefined>;
  /** Text of its resolv.conf, if pods can use the servers in it. */
  resolvConf(): Promise<string | undefined>;
  /** Size of the file system that holds `path`. */
  diskBytes(path: string): Promise<number | undefined>;
}

/** The kubelet's own default for maxPods. */
const PODS = 110;

/** The part of the engine's answer that is used; dockerode does not type it. */
interface EngineInfo {
  readonly ID?: string;
  readonly Name?: string;
  readonly NCPU: number;
  readonly MemTotal: number;
  readonly OSType?: string;
  readonly Architecture?: string;
  readonly KernelVersion?: string;
  readonly OperatingSystem?: string;
  readonly ServerVersion?: string;
  readonly DockerRootDir?: string;
}

export async function describeHost(engine: Engine, host: HostReader, options: CallOptions): Promise<HostReport> {
  const info: EngineInfo = await engine.calls.call('describe its host', options, () => engine.docker.info());
  const [address, bootId, systemUuid, resolvConf, disk] = await Promise.all([
    host.address(),
    host.bootId(),
    host.systemUuid(),
    host.resolvConf(),
    info.DockerRootDir === undefined ? undefined : host.diskBytes(info.DockerRootDir),
  ]);
  return {
    os: info.OSType ?? 'linux',
    arch: mapArch(info.Architecture ?? ''),
    ...given('kernelVersion', info.KernelVersion),
    ...given('osImage', info.OperatingSystem),
    ...given('machineId', info.ID),
    ...given('systemUuid', systemUuid),
    ...given('bootId', bootId),
    runtimeName: 'docker',
    runtimeVersion: info.ServerVersion ?? 'unknown',
    capacity: {
      cpuMilli: info.NCPU * 1000,
      memoryBytes: info.MemTotal,
      ...given('ephemeralBytes', disk),
      pods: PODS,
    },
    resolvConf: resolvConf ?? EMBEDDED_RESOLV_CONF,
    addresses: [
      ...(address === undefined ? [] : [{ type: 'InternalIP', address } as const]),
      ...(info.Name === undefined ? [] : [{ type: 'Hostname', address: info.Name } as const]),
    ],
  };
}

function given<Key extends string, Value>(key: Key, value: Value | undefined): { [K in Key]?: Value } {
  // A computed key widens to an index signature; it is the one key asked for.
  return value === undefined ? {} : ({ [key]: value } as { [K in Key]?: Value });
}

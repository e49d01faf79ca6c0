import type Docker from 'dockerode';
import type { ContainerSpec, Labels, ResourceSpec, SandboxSpec, SecuritySpec } from '../contract/index.ts';
import { envMap } from '../shared/env-map.ts';
import { encodeUnit } from '../shared/unit-labels.ts';
import { containerName, unfilledSandboxName } from '../shared/unit-names.ts';
import { messageMounts } from './message-files.ts';
import { type MountParts, mountOf } from './mounts.ts';
import { networkFileMounts, networkFilesMount } from './network-files.ts';
import { volumeMounts } from './volume-mounts.ts';

export interface EngineSettings {
  readonly sandboxImage: string;
  /** As the json-file driver takes it ("10m"). */
  readonly logMaxSize: string;
  readonly logMaxFiles: number;
  /** Directory of seccomp profiles, on the machine that runs Outrigger: the engine is handed their text. */
  readonly seccompRoot: string;
}

/** An image may bring one; probes are the kubelet's affair. */
const NO_HEALTHCHECK = { Test: ['NONE'] };

type CreateOptions = Docker.ContainerCreateOptions & { readonly name: string };

export function sandboxCreateOptions(
  spec: SandboxSpec,
  owner: Labels,
  network: string,
  settings: EngineSettings,
): CreateOptions {
  const { ports, mode } = spec.network;
  const isHost = mode === 'host';
  // On the host's network a port is a host port already.
  const published = isHost ? [] : ports.filter((port) => port.hostPort !== undefined && port.hostPort > 0);
  const key = (port: (typeof published)[number]): string => `${port.containerPort}/${port.protocol.toLowerCase()}`;
  return {
    name: unfilledSandboxName(spec.pod, spec.attempt),
    Image: settings.sandboxImage,
    ...(spec.hostname === '' ? {} : { Hostname: spec.hostname }),
    Healthcheck: NO_HEALTHCHECK,
    Labels: encodeUnit({ kind: 'sandbox', pod: spec.pod, attempt: spec.attempt }, spec.labels, owner),
    ExposedPorts: Object.fromEntries(published.map((port) => [key(port), {}])),
    HostConfig: {
      ...common(settings),
      NetworkMode: isHost ? 'host' : network,
      ...(isHost ? { UTSMode: 'host' } : {}),
      IpcMode: spec.hostIpc === true ? 'host' : 'shareable',
      ...(spec.runtimeHandler === undefined ? {} : { Runtime: spec.runtimeHandler }),
      ...(spec.sysctls === undefined ? {} : { Sysctls: { ...spec.sysctls } }),
      CpuShares: MIN_SHARES,
      SecurityOpt: ['no-new-privileges'],
      Mounts: [...volumeMounts(spec, owner), networkFilesMount(spec, owner)],
      PortBindings: groupBindings(published.map((port) => [key(port), port.hostIp ?? '', port.hostPort ?? 0])),
    },
  };
}

function groupBindings(
  bindings: readonly (readonly [key: string, hostIp: string, hostPort: number])[],
): Record<string, { HostIp: string; HostPort: string }[]> {
  const grouped: Record<string, { HostIp: string; HostPort: string }[]> = {};
  for (const [key, hostIp, hostPort] of bindings) {
    grouped[key] = [...(grouped[key] ?? []), { HostIp: hostIp, HostPort: String(hostPort) }];
  }
  return grouped;
}

export interface ContainerPlace {
  /** Engine id of the pod's sandbox. */
  readonly sandboxId: string;
  /** Engine id of the container whose processes this one joins. */
  readonly targetId?: string;
  /** The engine's runtime that runs the sandbox. */
  readonly runtime?: string;
  /** Text of the seccomp profile that the spec names by its file. */
  readonly seccompJson?: string;
  /** USER of the image, for a spec that names a group and leaves the user to the image. */
  readonly imageUser?: string;
  /** Mounts of that sandbox. */
  readonly held?: readonly { readonly Destination: string; readonly Source: string }[];
  /** For mounts that are not whole volumes. */
  readonly parts?: MountParts;
}

const NO_PARTS: MountParts = new Map();

export function containerCreateOptions(
  sandbox: SandboxSpec,
  spec: ContainerSpec,
  owner: Labels,
  place: ContainerPlace,
  settings: EngineSettings,
): CreateOptions {
  const { pod } = sandbox;
  const joined = `container:${place.sandboxId}`;
  const ref = { podUid: pod.uid, container: spec.name, attempt: spec.attempt };
  const unit = { kind: 'container', pod, container: spec.name, attempt: spec.attempt } as const;
  const user = userOf(spec.security, place.imageUser);
  const held = place.held ?? [];
  const messages = messageMounts(spec, held);
  return {
    name: containerName(ref, pod.name),
    Image: spec.image,
    Healthcheck: NO_HEALTHCHECK,
    Labels: encodeUnit({ ...unit, sandboxAttempt: sandbox.attempt }, spec.labels, owner),
    Env: environment(spec.env),
    Tty: spec.terminal.tty,
    OpenStdin: spec.terminal.stdin,
    StdinOnce: spec.terminal.stdinOnce,
    // An entrypoint of our own makes the engine forget the image's arguments, which is the kubelet's rule too.
    ...(isGiven(spec.command) ? { Entrypoint: [...spec.command] } : {}),
    ...(isGiven(spec.args) ? { Cmd: [...spec.args] } : {}),
    ...(spec.workingDir ? { WorkingDir: spec.workingDir } : {}),
    ...(spec.stopSignal === undefined ? {} : { StopSignal: spec.stopSignal }),
    ...(user === undefined ? {} : { User: user }),
    HostConfig: {
      ...common(settings),
      NetworkMode: joined,
      IpcMode: sandbox.hostIpc === true ? 'host' : joined,
      ...(sandbox.network.mode === 'host' ? { UTSMode: 'host' } : {}),
      ...pidMode(sandbox, place),
      ...(place.runtime === undefined ? {} : { Runtime: place.runtime }),
      Mounts: [
        ...spec.mounts.map((mount) => mountOf(sandbox, mount, place.parts ?? NO_PARTS)),
        ...networkFileMounts(spec, held).filter((file) => file.Target !== messages[0]?.Target),
        ...messages,
      ],
      ...resources(spec.resources),
      ...security(spec.security, place.seccompJson),
    },
  };
}

function pidMode(sandbox: SandboxSpec, { sandboxId, targetId }: ContainerPlace): Docker.HostConfig {
  if (targetId !== undefined) return { PidMode: `container:${targetId}` };
  if (sandbox.hostPid === true) return { PidMode: 'host' };
  return sandbox.sharePidNamespace ? { PidMode: `container:${sandboxId}` } : {};
}

function common(settings: EngineSettings): Docker.HostConfig {
  return {
    RestartPolicy: { Name: 'no' },
    AutoRemove: false,
    // The engine may be configured to add an init process or to send logs where its API cannot read them.
    Init: false,
    LogConfig: {
      Type: 'json-file',
      Config: { 'max-size': settings.logMaxSize, 'max-file': String(settings.logMaxFiles) },
    },
  };
}

function isGiven(words: readonly string[] | undefined): words is readonly string[] {
  return words !== undefined && words.length > 0;
}

function environment(env: ContainerSpec['env']): string[] {
  return [...envMap(env)].map(([name, value]) => `${name}=${value}`);
}

function userOf({ runAsUser, runAsGroup }: SecuritySpec, imageUser: string | undefined): string | undefined {
  if (runAsGroup === undefined) return runAsUser === undefined ? undefined : String(runAsUser);
  const user = runAsUser ?? (imageUser ?? '').split(':')[0];
  return `${user === '' ? 0 : user}:${runAsGroup}`;
}

const PERIOD_US = 100_000;
/** Below this the kernel refuses a quota (kubelet: minQuotaPeriod). */
const MIN_QUOTA_US = 1_000;
const MIN_SHARES = 2;
const MAX_SHARES = 262_144;

/** What the kubelet computes for the same requests and limits (MilliCPUToShares, MilliCPUToQuota). */
export function resources(spec: ResourceSpec): Docker.HostConfig {
  const shares = Math.floor(((spec.cpuRequestMilli ?? 0) * 1024) / 1000);
  const limits: Docker.HostConfig = { CpuShares: Math.min(MAX_SHARES, Math.max(MIN_SHARES, shares)) };
  if (spec.cpuLimitMilli !== undefined && spec.cpuLimitMilli > 0) {
    limits.CpuPeriod = PERIOD_US;
    limits.CpuQuota = Math.max(MIN_QUOTA_US, Math.floor((spec.cpuLimitMilli * PERIOD_US) / 1000));
  }
  if (spec.memoryLimitBytes !== undefined && spec.memoryLimitBytes > 0) {
    limits.Memory = spec.memoryLimitBytes;
    // Memory and swap together: no swap beyond the limit.
    limits.MemorySwap = spec.memoryLimitBytes;
  }
  if (spec.pidsLimit !== undefined && spec.pidsLimit > 0) limits.PidsLimit = spec.pidsLimit;
  if (spec.oomScoreAdj !== undefined) limits.OomScoreAdj = spec.oomScoreAdj;
  return limits;
}

export function security(spec: SecuritySpec, seccompJson?: string): Docker.HostConfig {
  const options = [
    ...(spec.allowPrivilegeEscalation === false ? ['no-new-privileges'] : []),
    // RuntimeDefault is what the engine does when nothing is said; the kubelet's default is no filter.
    ...(spec.seccompProfile === 'RuntimeDefault' ? [] : [`seccomp=${seccompJson ?? 'unconfined'}`]),
  ];
  return {
    Privileged: spec.privileged ?? false,
    ReadonlyRootfs: spec.readOnlyRootFilesystem ?? false,
    SecurityOpt: options,
    CapAdd: [...(spec.addCapabilities ?? [])],
    CapDrop: [...(spec.dropCapabilities ?? [])],
    GroupAdd: (spec.supplementalGroups ?? []).map(String),
  };
}

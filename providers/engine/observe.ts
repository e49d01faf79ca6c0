import type Docker from 'dockerode';
import type { ContainerState, ObservedContainer, ObservedPod, PodIdentity } from '../contract/index.ts';
import { decodeUnit, passedLabels } from '../shared/unit-labels.ts';
import { isUnfilledSandboxName } from '../shared/unit-names.ts';

/** From the engine's words to the contract's. Pure. */

type EngineState = Docker.ContainerInspectInfo['State'];

/** What the kubelet's runtimes say of a command that could not be started (reference 1.5). */
const START_FAILED = 128;

export function containerState(state: EngineState, createdAt: Date): ContainerState {
  const startedAt = timeOf(state.StartedAt);
  if (state.Running) return { status: 'running', startedAt: startedAt ?? createdAt };
  if (startedAt === undefined) {
    if (state.Error === '' && !state.Dead) return { status: 'created' };
    return {
      status: 'exited',
      exitCode: START_FAILED,
      oomKilled: false,
      reason: 'StartError',
      startedAt: new Date(0),
      // The engine keeps no time of a failed start; it follows the creation at once.
      finishedAt: timeOf(state.FinishedAt) ?? createdAt,
      message: state.Error,
    };
  }
  if (state.Restarting) return { status: 'waiting', reason: 'Restarting', message: state.Error };
  const signal = state.ExitCode - 128;
  return {
    status: 'exited',
    exitCode: state.ExitCode,
    ...(signal > 0 && signal <= 64 ? { signal } : {}),
    oomKilled: state.OOMKilled,
    startedAt,
    // The engine takes the start's time when it hears of it; a command that is done at once may have ended before.
    finishedAt: later(startedAt, timeOf(state.FinishedAt) ?? startedAt),
    ...(state.Error === '' ? {} : { message: state.Error }),
  };
}

function later(a: Date, b: Date): Date {
  return a > b ? a : b;
}

/** The engine writes year 1 where nothing has happened. */
function timeOf(text: string): Date | undefined {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) || time.getUTCFullYear() <= 1 ? undefined : time;
}

/** Digest form where the image has one: of the repository it was asked for by, else of any; otherwise the engine's id. */
export function imageIdOf(image: string, id: string, repoDigests: readonly string[]): string {
  const repository = image.replace(/@.*$/, '').replace(/:[^/:]*$/, '');
  return repoDigests.find((digest) => digest.split('@')[0] === repository) ?? repoDigests[0] ?? id;
}

export interface ContainerDetails {
  readonly info: Docker.ContainerInspectInfo;
  readonly imageId: string;
}

export function observedContainer({ info, imageId }: ContainerDetails): ObservedContainer | undefined {
  const unit = decodeUnit(info.Config.Labels);
  if (unit?.kind !== 'container') return undefined;
  const createdAt = new Date(info.Created);
  return {
    name: unit.container,
    attempt: unit.attempt,
    id: info.Id,
    image: info.Config.Image,
    imageId,
    createdAt,
    state: containerState(info.State, createdAt),
    labels: passedLabels(info.Config.Labels),
  };
}

interface Sandbox {
  readonly attempt: number;
  readonly info: Docker.ContainerInfo;
}

export interface PodParts {
  readonly pod: PodIdentity;
  readonly sandboxes: readonly Sandbox[];
  readonly containers: readonly ObservedContainer[];
  /** Newest sandbox that a container was seen to have joined. */
  readonly sandboxAttempt?: number;
  /** Volumes outlive a removal that was cut off; they alone are a pod that somebody must remove. */
  readonly volumes: readonly Docker.VolumeInspectInfo[];
}

export function observedPod(parts: PodParts): ObservedPod {
  const [newest] = parts.sandboxes.toSorted((a, b) => b.attempt - a.attempt);
  const containers = parts.containers.toSorted((a, b) => a.name.localeCompare(b.name) || a.attempt - b.attempt);
  const shared = { pod: parts.pod, containers };
  if (newest === undefined) {
    const remains = { unitId: parts.volumes[0]?.Name ?? '', ips: [], labels: {} };
    const [container] = containers;
    if (container === undefined) {
      // Nothing ran yet, or nothing will again: making the sandbox and removing it are both right from here.
      const createdAt = new Date(volumeTime(parts.volumes[0]));
      return { ...shared, ...remains, attempt: 0, createdAt, state: 'pending', reason: 'VolumesOnly' };
    }
    const attempt = parts.sandboxAttempt ?? 0;
    return {
      ...shared,
      ...remains,
      attempt,
      createdAt: container.createdAt,
      state: 'stopped',
      reason: 'SandboxRemoved',
    };
  }
  const { info, attempt } = newest;
  return {
    ...shared,
    unitId: info.Id,
    attempt,
    createdAt: new Date(info.Created * 1000),
    state: sandboxState(info),
    ips: info.State === 'running' ? addressesOf(info) : [],
    labels: passedLabels(info.Labels),
  };
}

function volumeTime(volume: Docker.VolumeInspectInfo | undefined): string | number {
  // Not in the types; every engine since 1.29 of the API sends it.
  const details: object = volume ?? {};
  return 'CreatedAt' in details && typeof details.CreatedAt === 'string' ? details.CreatedAt : 0;
}

function sandboxState(info: Docker.ContainerInfo): ObservedPod['state'] {
  const unfilled = info.Names.some(isUnfilledSandboxName);
  switch (info.State) {
    case 'running':
    case 'paused':
    case 'restarting':
      return unfilled ? 'pending' : 'ready';
    case 'created':
      return 'pending';
    case 'removing':
      return 'stopping';
    default:
      return 'stopped';
  }
}

export function addressesOf(info: Docker.ContainerInfo): readonly string[] {
  return Object.values(info.NetworkSettings?.Networks ?? {}).flatMap((network) =>
    [network.IPAddress, network.GlobalIPv6Address].filter((address) => address !== undefined && address !== ''),
  );
}

import type { CgroupPlace, Controller, ReadText } from './stats-cgroup.ts';

/** Where the control groups of a container are mounted here. Pure. */

interface Mount {
  readonly point: string;
  /** Which part of the hierarchy is mounted there. */
  readonly root: string;
  readonly version: 1 | 2;
  readonly controllers: ReadonlySet<string>;
}

/** `/proc/self/mountinfo`. */
export function cgroupMounts(mountinfo: string): readonly Mount[] {
  return mountinfo.split('\n').flatMap((line): Mount[] => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root, point] = before.split(' ');
    const [type, , options = ''] = after.split(' ');
    if (root === undefined || point === undefined) return [];
    if (type === 'cgroup2') return [{ point, root, version: 2, controllers: new Set() }];
    if (type === 'cgroup') return [{ point, root, version: 1, controllers: new Set(options.split(',')) }];
    return [];
  });
}

const CONTROLLERS: readonly Controller[] = ['cpu', 'cpuacct', 'memory', 'blkio', 'pids'];

/**
 * From `/proc/PID/cgroup` of one of its processes. Where both versions are mounted, the one that has the memory counts. undefined
 * when what it names is not mounted here.
 */
export function placeOf(cgroup: string, mounts: readonly Mount[]): CgroupPlace | undefined {
  const lines = cgroup.split('\n').flatMap((line) => {
    const [, controllers, ...path] = line.split(':');
    return controllers === undefined ? [] : [{ controllers: controllers.split(','), path: path.join(':') }];
  });
  const directories: Partial<Record<Controller, string>> = {};
  for (const controller of CONTROLLERS) {
    const line = lines.find(({ controllers }) => controllers.includes(controller));
    const mount = mounts.find((candidate) => candidate.version === 1 && candidate.controllers.has(controller));
    const directory = line && mount && below(mount, line.path);
    if (directory !== undefined) directories[controller] = directory;
  }
  const memory = lines.find(({ controllers }) => controllers.includes('memory'));
  if (directories.memory !== undefined && memory !== undefined) return { version: 1, path: memory.path, directories };
  const unified = lines.find(({ controllers }) => controllers.length === 1 && controllers[0] === '');
  const mount = mounts.find(({ version }) => version === 2);
  const directory = unified && mount && below(mount, unified.path);
  return directory === undefined || unified === undefined ? undefined : { version: 2, path: unified.path, directory };
}

/** A path that leads out of our own control group namespace ("/../x") is not mounted here. */
function below({ point, root }: Mount, path: string): string | undefined {
  if (path.split('/').includes('..')) return undefined;
  if (root === '/') return `${point}${path === '/' ? '' : path}`;
  if (path !== root && !path.startsWith(`${root}/`)) return undefined;
  return `${point}${path.slice(root.length)}`;
}

/** The same place for another container: engines put all of theirs beside each other, named after the container. */
export function placeLike(place: CgroupPlace, id: string, other: string): CgroupPlace {
  const rename = (text: string): string => text.replaceAll(id, other);
  if (place.version === 2) return { version: 2, path: rename(place.path), directory: rename(place.directory) };
  const directories = Object.fromEntries(
    Object.entries(place.directories).map(([controller, directory]) => [controller, rename(directory)]),
  );
  return { version: 1, path: rename(place.path), directories };
}

/** Whether it is there: ids are random enough that a group named after one is that container's. */
export function exists(place: CgroupPlace, read: ReadText): boolean {
  const directory = place.version === 2 ? place.directory : place.directories.memory;
  return read(`${directory}/cgroup.procs`) !== undefined;
}

import type { SecuritySpec } from '../../providers/contract/index.ts';
import { type Container, formatPod, type Pod } from '../model/pod.ts';
import { ContainerConfigError } from './config-error.ts';

/** Pod and container security context as one; what the container says wins (DetermineEffectiveSecurityContext). */
export function buildSecurity(pod: Pod, container: Container, imageUser: string | undefined): SecuritySpec {
  const shared = pod.spec.securityContext ?? {};
  const own = container.securityContext ?? {};
  const runAsGroup = own.runAsGroup ?? shared.runAsGroup;
  const runAsUser = own.runAsUser ?? shared.runAsUser ?? userBesideGroup(runAsGroup, imageUser);
  // The group of the volumes comes first (kuberuntime: DetermineEffectiveSecurityContext of the pod).
  const groups = [...(shared.fsGroup === undefined ? [] : [shared.fsGroup]), ...(shared.supplementalGroups ?? [])];
  const profile = seccompProfile(own.seccompProfile ?? shared.seccompProfile);
  const { privileged, allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities } = own;
  const { add = [], drop = [] } = capabilities ?? {};
  return {
    ...(runAsUser !== undefined && { runAsUser }),
    ...(runAsGroup !== undefined && { runAsGroup }),
    ...(groups.length > 0 && { supplementalGroups: groups }),
    ...(privileged !== undefined && { privileged }),
    ...(allowPrivilegeEscalation !== undefined && { allowPrivilegeEscalation }),
    ...(readOnlyRootFilesystem !== undefined && { readOnlyRootFilesystem }),
    ...(add.length > 0 && { addCapabilities: add }),
    ...(drop.length > 0 && { dropCapabilities: drop }),
    ...(profile !== undefined && { seccompProfile: profile }),
  };
}

function seccompProfile(
  profile: NonNullable<Container['securityContext']>['seccompProfile'],
): SecuritySpec['seccompProfile'] {
  switch (profile?.type) {
    case 'RuntimeDefault':
    case 'Unconfined':
      return profile.type;
    case 'Localhost':
      return { localhost: profile.localhostProfile ?? '' };
    default:
      return undefined;
  }
}

/** runAsNonRoot, judged by who the container would run as; throws with the kubelet's text (verifyRunAsNonRoot). */
export function verifyRunAsNonRoot(pod: Pod, container: Container, imageUser: string | undefined): void {
  const shared = pod.spec.securityContext;
  const own = container.securityContext;
  if ((own?.runAsNonRoot ?? shared?.runAsNonRoot) !== true) return;
  const where = `(pod: "${formatPod(pod)}", container: ${container.name})`;
  const user = own?.runAsUser ?? shared?.runAsUser;
  if (user === 0) throw new ContainerConfigError(`container's runAsUser breaks non-root policy ${where}`);
  if (user !== undefined) return;
  const image = parseImageUser(imageUser);
  if (image.uid === 0) {
    throw new ContainerConfigError(`container has runAsNonRoot and image will run as root ${where}`);
  }
  if (image.uid === undefined) {
    throw new ContainerConfigError(
      `container has runAsNonRoot and image has non-numeric user (${image.name}), cannot verify user is non-root ${where}`,
    );
  }
}

/** USER of an image: `1000`, `nobody`, `1000:1000`. Unset, or not told by the backend, counts as root (getImageUser). */
function parseImageUser(user: string | undefined): { uid: number } | { uid: undefined; name: string } {
  const name = (user ?? '').split(':')[0] ?? '';
  if (name === '') return { uid: 0 };
  return /^\d+$/.test(name) ? { uid: Number(name) } : { uid: undefined, name };
}

/** A runtime takes no group without a user; the kubelet then names the image's own user, where that is a number. */
function userBesideGroup(runAsGroup: number | undefined, imageUser: string | undefined): number | undefined {
  return runAsGroup === undefined ? undefined : parseImageUser(imageUser).uid;
}

/** The one user that all containers run as, if they agree on one: owner of bound tokens (FsUserFrom, reference 9.5). */
export function commonUser(pod: Pod): number | undefined {
  const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
  const users = containers.map(
    ({ securityContext }) => securityContext?.runAsUser ?? pod.spec.securityContext?.runAsUser,
  );
  return users.every((user) => user === users[0]) ? users[0] : undefined;
}

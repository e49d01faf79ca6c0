import type { SecuritySpec } from '../../providers/contract/index.ts';
import type { Container, Pod } from '../model/pod.ts';
import { both, fields, notYet, oneOf, provided, type Rule, supported, unless } from './unsupported-rules.ts';

type PodContext = NonNullable<Pod['spec']['securityContext']>;
type Context = NonNullable<Container['securityContext']>;

function enforced(field: keyof SecuritySpec): Rule {
  return provided(({ security }) => security.has(field), `enforce ${field}`);
}

const SECCOMP = fields<NonNullable<Context['seccompProfile']>>({
  type: both(oneOf(['RuntimeDefault', 'Unconfined', 'Localhost']), enforced('seccompProfile')),
  localhostProfile: supported,
});

const SHARED = {
  runAsUser: enforced('runAsUser'),
  runAsGroup: enforced('runAsGroup'),
  runAsNonRoot: supported,
  seccompProfile: SECCOMP,
  appArmorProfile: notYet('AppArmor profiles are'),
  seLinuxOptions: notYet('SELinux options are'),
  windowsOptions: notYet('Windows options are'),
};

export const POD_SECURITY = fields<PodContext>({
  ...SHARED,
  supplementalGroups: unlessEmpty(enforced('supplementalGroups')),
  supplementalGroupsPolicy: oneOf(['Merge']),
  fsGroup: both(
    enforced('supplementalGroups'),
    provided(({ fsGroup }) => fsGroup, 'give volumes to a group'),
  ),
  // Volumes that Outrigger fills are new with each pod: there is nothing to compare with, so both policies do the same.
  fsGroupChangePolicy: supported,
  seLinuxChangePolicy: notYet('SELinux options are'),
  sysctls: unlessEmpty(provided(({ sysctls }) => sysctls, 'set sysctls')),
});

export const CONTAINER_SECURITY = fields<Context>({
  ...SHARED,
  // What every container has anyway asks for nothing.
  privileged: unless([false], enforced('privileged')),
  allowPrivilegeEscalation: unless([true], enforced('allowPrivilegeEscalation')),
  readOnlyRootFilesystem: unless([false], enforced('readOnlyRootFilesystem')),
  capabilities: fields<NonNullable<Context['capabilities']>>({
    add: unlessEmpty(enforced('addCapabilities')),
    drop: unlessEmpty(enforced('dropCapabilities')),
  }),
  procMount: oneOf(['Default']),
});

function unlessEmpty(rule: Rule): Rule {
  return (value, path, traits) => (Array.isArray(value) && value.length === 0 ? undefined : rule(value, path, traits));
}

import type { PortSpec } from '../../providers/contract/index.ts';
import type { Pod } from '../model/pod.ts';

/** Ports that the containers of a pod declare; a sidecar's count, those of plain init containers do not. */
export function podPorts(pod: Pod): readonly PortSpec[] {
  const sidecars = (pod.spec.initContainers ?? []).filter(({ restartPolicy }) => restartPolicy === 'Always');
  return [...sidecars, ...pod.spec.containers].flatMap(({ ports = [] }) =>
    ports.map(({ containerPort, protocol, hostPort, hostIP }) => ({
      containerPort,
      protocol: protocol === 'UDP' || protocol === 'SCTP' ? protocol : 'TCP',
      ...(hostPort !== undefined && hostPort > 0 && { hostPort }),
      ...(hostIP !== undefined && hostIP !== '' && { hostIp: hostIP }),
    })),
  );
}

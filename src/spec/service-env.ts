import type { Service } from '../model/pod.ts';

const MASTER_SERVICE = 'kubernetes';

/**
 * Service variables of a pod (reference 10.5). `services` may hold those of any namespace: taken are the ones of the pod's own
 * namespace (unless links are off), and `kubernetes` of `default` where the own namespace has no service of that name.
 */
export function serviceVariables(
  services: readonly Service[],
  namespace: string,
  enableServiceLinks: boolean,
): ReadonlyMap<string, string> {
  const byName = new Map<string, Service>();
  for (const service of services) {
    const { name, namespace: home } = service.metadata;
    if (!hasClusterIp(service)) continue;
    if (home === 'default' && name === MASTER_SERVICE) {
      if (!byName.has(name)) byName.set(name, service);
    } else if (home === namespace && enableServiceLinks) byName.set(name, service);
  }
  const variables = new Map<string, string>();
  for (const name of [...byName.keys()].sort()) {
    const service = byName.get(name);
    if (service !== undefined) addVariables(variables, service);
  }
  return variables;
}

function addVariables(variables: Map<string, string>, service: Service): void {
  const prefix = toVariableName(service.metadata.name);
  const ip = service.spec?.clusterIP ?? '';
  const ports = service.spec?.ports ?? [];
  const first = ports[0];
  // Only headless services may have no ports, and those are not taken.
  if (first === undefined) return;
  variables.set(`${prefix}_SERVICE_HOST`, ip);
  variables.set(`${prefix}_SERVICE_PORT`, String(first.port));
  for (const { name, port } of ports) {
    if (name !== undefined && name !== '')
      variables.set(`${prefix}_SERVICE_PORT_${toVariableName(name)}`, String(port));
  }
  variables.set(`${prefix}_PORT`, portUrl(ip, first));
  for (const entry of ports) {
    const protocol = entry.protocol ?? 'TCP';
    const own = `${prefix}_PORT_${entry.port}_${protocol.toUpperCase()}`;
    variables.set(own, portUrl(ip, entry));
    variables.set(`${own}_PROTO`, protocol.toLowerCase());
    variables.set(`${own}_PORT`, String(entry.port));
    variables.set(`${own}_ADDR`, ip);
  }
}

function portUrl(ip: string, { port, protocol = 'TCP' }: { port: number; protocol?: string }): string {
  return `${protocol.toLowerCase()}://${ip.includes(':') ? `[${ip}]` : ip}:${port}`;
}

function hasClusterIp(service: Service): boolean {
  const ip = service.spec?.clusterIP;
  return ip !== undefined && ip !== '' && ip !== 'None';
}

function toVariableName(name: string): string {
  return name.toUpperCase().replaceAll('-', '_');
}

import type { Container } from '../../model/pod.ts';
import { parseInteger } from '../../util/go-number.ts';

/** The port's number, or why there is none (kubelet: probe.ResolveContainerPort; the texts of Go's strconv.Atoi). */
export function resolvePort(port: number | string, container: Container): number | { readonly error: string } {
  const number = typeof port === 'number' ? port : (namedPort(port, container) ?? parseInteger(port));
  if (typeof number === 'string') return { error: number };
  return number > 0 && number < 65_536 ? number : { error: `invalid port number: ${number}` };
}

function namedPort(name: string, { ports = [] }: Container): number | undefined {
  return ports.find((port) => port.name === name)?.containerPort;
}

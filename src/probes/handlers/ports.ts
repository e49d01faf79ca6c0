import type { Container } from '../../model/pod.ts';
import { goQuote } from '../../util/go-quote.ts';

/** The port's number, or why there is none (kubelet: probe.ResolveContainerPort; the texts of Go's strconv.Atoi). */
export function resolvePort(port: number | string, container: Container): number | { readonly error: string } {
  const number = typeof port === 'number' ? port : (namedPort(port, container) ?? parse(port));
  if (typeof number !== 'number') return number;
  return number > 0 && number < 65_536 ? number : { error: `invalid port number: ${number}` };
}

function namedPort(name: string, { ports = [] }: Container): number | undefined {
  return ports.find((port) => port.name === name)?.containerPort;
}

function parse(text: string): number | { readonly error: string } {
  if (!/^[+-]?\d+$/.test(text)) return { error: `strconv.Atoi: parsing ${goQuote(text)}: invalid syntax` };
  const number = Number(text);
  return Number.isSafeInteger(number)
    ? number
    : { error: `strconv.Atoi: parsing ${goQuote(text)}: value out of range` };
}

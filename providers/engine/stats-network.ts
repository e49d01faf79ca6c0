import type { InterfaceUsage } from '../contract/index.ts';

/** `/proc/PID/net/dev`: sixteen counters behind the name. Pure. */
export function interfacesIn(text: string): readonly InterfaceUsage[] {
  return text.split('\n').flatMap((line) => {
    const colon = line.indexOf(':');
    if (colon < 0) return [];
    const numbers = line
      .slice(colon + 1)
      .trim()
      .split(/\s+/)
      .map(Number);
    const [rxBytes, rxPackets, rxErrors, rxDropped, , , , , txBytes, txPackets, txErrors, txDropped] = numbers;
    if (numbers.length < 16 || numbers.some(Number.isNaN)) return [];
    // All of them are there, as counted above; the compiler does not count.
    const counters = { rxBytes, rxPackets, rxErrors, rxDropped, txBytes, txPackets, txErrors, txDropped };
    return [{ name: line.slice(0, colon).trim(), ...(counters as Omit<InterfaceUsage, 'name'>) }];
  });
}

/** Without the one that leads nowhere. */
export function ofPod(interfaces: readonly InterfaceUsage[]): readonly InterfaceUsage[] {
  return interfaces.filter(({ name }) => name !== 'lo');
}

const TOWARDS_PODS = /^(docker|br-|veth|cni|virbr|nerdctl)/;

/** The machine's own ones. undefined when no bridge of an engine is among them: then they are those of another network. */
export function ofHost(interfaces: readonly InterfaceUsage[]): readonly InterfaceUsage[] | undefined {
  if (!interfaces.some(({ name }) => TOWARDS_PODS.test(name))) return undefined;
  return ofPod(interfaces).filter(({ name }) => !TOWARDS_PODS.test(name));
}

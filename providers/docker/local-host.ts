import { createSocket } from 'node:dgram';
import { readFile, statfs } from 'node:fs/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { HostReader } from '../engine/host.ts';
import type { EngineAddress } from './schema.ts';

/** What can be said of the engine's machine from here: much when it is this one, its address otherwise. */
export function hostReader(address: EngineAddress, nodeAddress: string | undefined): HostReader {
  if (address.type === 'socket') {
    return {
      address: async () => nodeAddress ?? (await primaryAddress()),
      bootId: () => firstLine('/proc/sys/kernel/random/boot_id'),
      systemUuid: () => firstLine('/sys/class/dmi/id/product_uuid'),
      resolvConf,
      diskBytes,
    };
  }
  const unknown = async (): Promise<undefined> => undefined;
  return {
    address: async () => nodeAddress ?? (isIP(address.host) === 0 ? undefined : address.host),
    bootId: unknown,
    systemUuid: unknown,
    resolvConf: unknown,
    diskBytes: unknown,
  };
}

async function firstLine(file: string): Promise<string | undefined> {
  try {
    return (await readFile(file, 'utf8')).split('\n')[0]?.trim();
  } catch {
    return undefined; // a machine without firmware tables, or a file for root alone: nodeInfo then leaves it out
  }
}

/** Of systemd-resolved, whose server for programs of this machine listens on a loopback address that pods do not have. */
const RESOLV_CONFS = ['/etc/resolv.conf', '/run/systemd/resolve/resolv.conf'];

/** undefined where only this machine itself can ask the servers: the engine then forwards what pods ask. */
async function resolvConf(): Promise<string | undefined> {
  for (const file of RESOLV_CONFS) {
    try {
      const text = await readFile(file, 'utf8');
      if (hasServerForPods(text)) return text;
    } catch {
      // There is no such file, which is the usual case for the second one.
    }
  }
  return undefined;
}

export function hasServerForPods(resolvConf: string): boolean {
  const servers = [...resolvConf.matchAll(/^\s*nameserver\s+(\S+)/gm)].map(([, server = '']) => server);
  return servers.some((server) => !server.startsWith('127.') && server !== '::1');
}

async function diskBytes(path: string): Promise<number | undefined> {
  try {
    const { blocks, bsize } = await statfs(path);
    return blocks * bsize;
  } catch {
    return undefined; // the engine runs in another mount namespace: its disk cannot be seen from here
  }
}

/** The address this machine would speak from: that of the default route, like the kubelet's choice (reference 5.4). */
async function primaryAddress(): Promise<string | undefined> {
  return (await sourceAddress()) ?? firstExternal();
}

/** Connecting a datagram socket sends nothing; it only makes the kernel choose a source. */
function sourceAddress(): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    const finish = (address: string | undefined): void => {
      socket.close();
      resolve(address);
    };
    socket.once('error', () => finish(undefined));
    // TEST-NET-1: an address that belongs to nobody.
    socket.connect(9, '192.0.2.1', () => {
      const { address } = socket.address();
      finish(address === '0.0.0.0' || address.startsWith('127.') ? undefined : address);
    });
  });
}

const CONTAINER_BRIDGE = /^(docker|br-|veth|cni|virbr)/;

function firstExternal(): string | undefined {
  return Object.entries(networkInterfaces())
    .filter(([name]) => !CONTAINER_BRIDGE.test(name))
    .flatMap(([, addresses]) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
}

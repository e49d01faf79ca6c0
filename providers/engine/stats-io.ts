import type { DeviceUsage, IoUsage } from '../contract/index.ts';
import { pressure } from './stats-pressure.ts';

/** What was read from and written to block devices. Pure. */

type Mutable = { -readonly [Key in keyof DeviceUsage]: DeviceUsage[Key] };

/** One number of one device, by the engine's and the kernel's words ("Read", "write", "8:0"). */
interface Told {
  readonly major: number;
  readonly minor: number;
  readonly key: 'readBytes' | 'writeBytes' | 'reads' | 'writes';
  readonly value: number;
}

export function devices(told: readonly Told[]): readonly DeviceUsage[] {
  const found = new Map<string, Mutable>();
  for (const { major, minor, key, value } of told) {
    const name = `${major}:${minor}`;
    const device = found.get(name) ?? { major, minor };
    device[key] = (device[key] ?? 0) + value;
    found.set(name, device);
  }
  return [...found.values()];
}

export function keyOf(operation: string, unit: 'bytes' | 'operations'): Told['key'] | undefined {
  switch (operation.toLowerCase()) {
    case 'read':
      return unit === 'bytes' ? 'readBytes' : 'reads';
    case 'write':
      return unit === 'bytes' ? 'writeBytes' : 'writes';
    default:
      return undefined; // sums, and what no dashboard asks for
  }
}

const V1_LINE = /^(\d+):(\d+) (\w+) (\d+)$/gm;

export function ioUsageV1(read: (file: string) => string | undefined): IoUsage | undefined {
  const bytes = read('blkio.throttle.io_service_bytes_recursive') ?? read('blkio.throttle.io_service_bytes');
  if (bytes === undefined) return undefined;
  const operations = read('blkio.throttle.io_serviced_recursive') ?? read('blkio.throttle.io_serviced') ?? '';
  const parse = (text: string, unit: 'bytes' | 'operations'): Told[] =>
    [...text.matchAll(V1_LINE)].flatMap(([, major, minor, operation = '', value]) => {
      const key = keyOf(operation, unit);
      return key === undefined ? [] : [{ major: Number(major), minor: Number(minor), key, value: Number(value) }];
    });
  return { devices: devices([...parse(bytes, 'bytes'), ...parse(operations, 'operations')]) };
}

const V2_KEYS: Readonly<Record<string, Told['key']>> = {
  rbytes: 'readBytes',
  wbytes: 'writeBytes',
  rios: 'reads',
  wios: 'writes',
};

export function ioUsageV2(read: (file: string) => string | undefined): IoUsage | undefined {
  const text = read('io.stat');
  if (text === undefined) return undefined;
  const told = text.split('\n').flatMap((line) => {
    const [device = '', ...words] = line.split(' ');
    const [major, minor] = device.split(':').map(Number);
    if (major === undefined || minor === undefined || Number.isNaN(major + minor)) return [];
    return words.flatMap((word) => {
      const [name = '', value] = word.split('=');
      const key = V2_KEYS[name];
      return key === undefined ? [] : [{ major, minor, key, value: Number(value) }];
    });
  });
  const stalled = pressure(read('io.pressure'));
  return { devices: devices(told), ...(stalled === undefined ? {} : { pressure: stalled }) };
}

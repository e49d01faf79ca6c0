import type { Pressure, PressureLine } from '../contract/index.ts';

const LINE = /^(some|full) avg10=([\d.]+) avg60=([\d.]+) avg300=([\d.]+) total=(\d+)$/gm;
const NONE: PressureLine = { totalMicros: 0, avg10: 0, avg60: 0, avg300: 0 };

/** A pressure file of the kernel; undefined where it has none. Kernels before 5.13 say nothing of `full` for the CPU: it is 0 there. */
export function pressure(text: string | undefined): Pressure | undefined {
  const lines = new Map<string, PressureLine>();
  for (const [, kind = '', avg10, avg60, avg300, total] of text?.matchAll(LINE) ?? [])
    lines.set(kind, {
      totalMicros: Number(total),
      avg10: Number(avg10),
      avg60: Number(avg60),
      avg300: Number(avg300),
    });
  const some = lines.get('some');
  return some === undefined ? undefined : { some, full: lines.get('full') ?? NONE };
}

import { expect, test } from 'vitest';
import { parseUsage } from './process-usage.ts';

test('reads processor time and peak memory whatever the command is called', () => {
  const stat =
    '42 (node (a) b) S 1 42 42 0 -1 4194304 100 0 0 0 250 50 7 9 20 0 11 0 12345 1000 500 18446744073709551615';
  const status = 'Name:\tnode\nVmPeak:\t  900000 kB\nVmHWM:\t  204800 kB\nVmRSS:\t  100000 kB\n';
  expect(parseUsage(stat, status)).toEqual({ cpuSeconds: 3, peakRssMb: 200 });
});

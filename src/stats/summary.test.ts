import { describe, expect, it } from 'vitest';
import type { PodUid } from '../../providers/contract/index.ts';
import { makePod, START_MS } from '../testing/builders.ts';
import { makeHostUsage, makePodUsage, makeStorage, makeView } from '../testing/stats-setup.ts';
import { summary } from './summary.ts';
import { HOST_KEY, rateKey } from './view.ts';

const MEASURED = '2026-01-02T03:04:15Z';
const UID = '11111111-2222-3333-4444-555555555555' as PodUid;

/** As a client reads it. */
function told(view: Parameters<typeof summary>[0], onlyCpuAndMemory = false): unknown {
  return JSON.parse(JSON.stringify(summary(view, { onlyCpuAndMemory })));
}

describe('the summary', () => {
  it('has the shape of the API, with everything that is known', () => {
    const pod = makePod({
      spec: {
        volumes: [
          { name: 'scratch', emptyDir: {} },
          { name: 'memory', emptyDir: { medium: 'Memory' } },
          { name: 'data', persistentVolumeClaim: { claimName: 'claim' } },
        ],
      },
    });
    const [stored] = makeStorage().pods;
    if (stored === undefined) throw new Error('nothing stored');
    const volumes = ['scratch', 'memory', 'data', 'forgotten'].map((name) => ({ name, usedBytes: 100 }));
    const view = makeView({
      storage: makeStorage({ pods: [{ ...stored, volumes }] }),
      desired: () => pod,
      rate: (key) => ({ [HOST_KEY]: 7, [rateKey(UID, 'c', 0)]: 5.4 })[key],
      self: { startedMs: START_MS, task: { timeMs: START_MS, cpu: { usageNanos: 9 }, memory: { rssBytes: 8 } } },
    });
    const fs = { availableBytes: 600, capacityBytes: 1000, inodesFree: 90, inodes: 100 };
    expect(told(view)).toEqual({
      node: {
        nodeName: 'node',
        systemContainers: [
          {
            name: 'pods',
            startTime: '2026-01-02T03:03:05Z',
            cpu: { time: MEASURED, usageCoreNanoSeconds: 3e9 },
            memory: { time: MEASURED, usageBytes: 3300, workingSetBytes: 2200, rssBytes: 1600, pageFaults: 8 },
          },
          {
            name: 'kubelet',
            startTime: '2026-01-02T03:04:05Z',
            cpu: { time: '2026-01-02T03:04:05Z', usageCoreNanoSeconds: 9 },
            memory: { time: '2026-01-02T03:04:05Z', rssBytes: 8 },
          },
        ],
        startTime: '2026-01-02T03:03:05Z',
        cpu: { time: MEASURED, usageNanoCores: 7, usageCoreNanoSeconds: 100e9 },
        memory: { time: MEASURED, availableBytes: 12_000, usageBytes: 5000, workingSetBytes: 4000 },
        swap: { time: MEASURED, swapAvailableBytes: 0, swapUsageBytes: 0 },
        network: { time: MEASURED, name: '', interfaces: [{ name: 'ens3', rxBytes: 1, txBytes: 2 }] },
        fs: { time: MEASURED, ...fs, usedBytes: 350 },
        runtime: {
          imageFs: { time: MEASURED, ...fs, usedBytes: 123 },
          containerFs: { time: MEASURED, ...fs, usedBytes: 123 },
        },
        rlimit: { time: MEASURED, maxpid: 32_768, curproc: 200 },
      },
      pods: [
        {
          podRef: { name: 'p', namespace: 'ns', uid: UID },
          startTime: '2026-01-02T03:04:05Z',
          containers: [
            {
              name: 'c',
              startTime: '2026-01-02T03:04:06Z',
              cpu: { time: MEASURED, usageNanoCores: 5, usageCoreNanoSeconds: 2.5e9 },
              memory: {
                time: MEASURED,
                availableBytes: 8000,
                usageBytes: 3000,
                workingSetBytes: 2000,
                rssBytes: 1500,
                pageFaults: 7,
              },
              rootfs: { time: '2026-01-02T03:04:05Z', ...fs, usedBytes: 40 },
              logs: { time: '2026-01-02T03:04:05Z', ...fs, usedBytes: 5 },
            },
          ],
          cpu: { time: MEASURED, usageCoreNanoSeconds: 3e9 },
          memory: {
            time: MEASURED,
            availableBytes: 10_000 - 2200,
            usageBytes: 3300,
            workingSetBytes: 2200,
            rssBytes: 1600,
            pageFaults: 8,
          },
          network: {
            time: MEASURED,
            name: 'eth0',
            rxBytes: 11,
            rxErrors: 0,
            txBytes: 22,
            txErrors: 1,
            interfaces: [{ name: 'eth0', rxBytes: 11, rxErrors: 0, txBytes: 22, txErrors: 1 }],
          },
          volume: [
            { time: '2026-01-02T03:04:05Z', ...fs, usedBytes: 100, name: 'scratch' },
            { time: '2026-01-02T03:04:05Z', usedBytes: 100, name: 'memory' },
            {
              time: '2026-01-02T03:04:05Z',
              usedBytes: 100,
              name: 'data',
              pvcRef: { name: 'claim', namespace: 'ns' },
            },
          ],
          'ephemeral-storage': { time: '2026-01-02T03:04:05Z', ...fs, usedBytes: 145 },
          process_stats: { process_count: 3 },
        },
      ],
    });
  });

  it('can be had with processors and memory only', () => {
    const view = makeView({ storage: makeStorage() });
    expect(told(view, true)).toEqual({
      node: {
        nodeName: 'node',
        systemContainers: [expect.objectContaining({ name: 'pods' })],
        startTime: '2026-01-02T03:03:05Z',
        cpu: expect.anything(),
        memory: expect.anything(),
        swap: expect.anything(),
      },
      pods: [
        {
          podRef: expect.anything(),
          startTime: expect.anything(),
          containers: [{ name: 'c', startTime: expect.anything(), cpu: expect.anything(), memory: expect.anything() }],
          cpu: expect.anything(),
          memory: expect.anything(),
        },
      ],
    });
  });

  it('leaves out what nobody knows, and says null of a start that nobody saw', () => {
    const { host: _, ...nothing } = makeView({ usage: [] });
    expect(told(nothing)).toEqual({ node: { nodeName: 'node', startTime: null }, pods: [] });
    const memoryOnly = makeView({ usage: [], host: { timeMs: START_MS, memory: { limitBytes: 5 } } });
    expect(told(memoryOnly)).toEqual({
      node: { nodeName: 'node', startTime: null, memory: { time: '2026-01-02T03:04:05Z' } },
      pods: [],
    });
  });

  it('tells of pressure as the kernel does', () => {
    const line = { totalMicros: 12, avg10: 1.5, avg60: 0, avg300: 0 };
    const pressure = { some: line, full: { ...line, totalMicros: 3 } };
    const host = makeHostUsage({
      cpu: { usageNanos: 1, pressure },
      memory: { workingSetBytes: 1, pressure },
      io: { devices: [], pressure },
    });
    const psi = {
      full: { total: 3, avg10: 1.5, avg60: 0, avg300: 0 },
      some: { total: 12, avg10: 1.5, avg60: 0, avg300: 0 },
    };
    expect(told(makeView({ host }))).toMatchObject({
      node: { cpu: { psi }, memory: { psi }, io: { time: MEASURED, psi } },
    });
  });

  it('shows a pod that the backend measures as one as it was measured', () => {
    const { sandbox: _, ...usage } = makePodUsage({ total: { timeMs: START_MS, cpu: { usageNanos: 99 } } });
    expect(told(makeView({ usage: [usage] }))).toMatchObject({
      pods: [{ cpu: { time: '2026-01-02T03:04:05Z', usageCoreNanoSeconds: 99 } }],
    });
  });
});

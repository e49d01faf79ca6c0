import { describe, expect, it } from 'vitest';
import type { HostReport } from '../../providers/contract/index.ts';
import {
  addresses,
  allocatable,
  capacity,
  declaredFeatures,
  hostLabels,
  nodeFacts,
  nodeImages,
  nodeInfo,
  type ReportSettings,
} from './report.ts';

const HOST: HostReport = {
  os: 'linux',
  arch: 'amd64',
  kernelVersion: '6.1.0',
  osImage: 'Debian',
  machineId: 'm',
  bootId: 'b',
  runtimeName: 'docker',
  runtimeVersion: '29.0.0',
  capacity: {
    cpuMilli: 8000,
    memoryBytes: 32 * 2 ** 30,
    ephemeralBytes: 100 * 2 ** 30,
    pods: 500,
    extended: { 'nvidia.com/gpu': 2 },
  },
  addresses: [
    { type: 'InternalIP', address: '10.0.0.5' },
    { type: 'ExternalIP', address: '203.0.113.5' },
    { type: 'Hostname', address: 'machine' },
  ],
};

const SETTINGS: ReportSettings = {
  name: 'n1',
  nodeIPs: [],
  podsPerCore: 0,
  reserved: { cpuMilli: 0, memoryBytes: 0, ephemeralBytes: 0 },
};

describe('capacity', () => {
  it('is what the backend reports, with at most 110 pods', () => {
    expect(capacity(HOST, SETTINGS)).toEqual({
      cpu: '8',
      memory: '32Gi',
      'ephemeral-storage': '100Gi',
      pods: '110',
      'nvidia.com/gpu': '2',
    });
  });

  it('has as many pods as configured, and no more than podsPerCore allows', () => {
    expect(capacity(HOST, { ...SETTINGS, maxPods: 300 })['pods']).toBe('300');
    expect(capacity(HOST, { ...SETTINGS, maxPods: 300, podsPerCore: 4 })['pods']).toBe('32');
    expect(capacity({ ...HOST, capacity: { ...HOST.capacity, pods: 7 } }, SETTINGS)['pods']).toBe('7');
  });

  it('keeps resources that somebody else put on the node', () => {
    expect(capacity(HOST, SETTINGS, { 'example.com/dongle': '4', cpu: '1' })).toMatchObject({
      'example.com/dongle': '4',
      cpu: '8',
    });
  });
});

describe('allocatable', () => {
  const total = { cpu: '8', memory: '32Gi', 'ephemeral-storage': '100Gi', pods: '110', 'example.com/dongle': '4' };

  it('is capacity where nothing is reserved', () => {
    expect(allocatable(total, SETTINGS)).toEqual(total);
  });

  it('is less by what is reserved, but never negative; pods and extended resources stay', () => {
    const reserved = { cpuMilli: 500, memoryBytes: 64 * 2 ** 30, ephemeralBytes: 10 * 2 ** 30 };
    expect(allocatable(total, { reserved })).toEqual({
      cpu: '7500m',
      memory: '0',
      'ephemeral-storage': '90Gi',
      pods: '110',
      'example.com/dongle': '4',
    });
  });

  it('takes huge pages off the memory', () => {
    expect(allocatable({ memory: '4Gi', 'hugepages-2Mi': '1Gi' }, SETTINGS)['memory']).toBe('3Gi');
  });
});

describe('addresses', () => {
  it("are the backend's, then the node's own name", () => {
    expect(addresses(SETTINGS, HOST)).toEqual([
      { type: 'InternalIP', address: '10.0.0.5' },
      { type: 'ExternalIP', address: '203.0.113.5' },
      { type: 'Hostname', address: 'n1' },
    ]);
  });

  it('are those of --node-ip when given, also while the backend is silent', () => {
    expect(addresses({ ...SETTINGS, nodeIPs: ['192.0.2.1', 'fd00::1'] }, undefined)).toEqual([
      { type: 'InternalIP', address: '192.0.2.1' },
      { type: 'InternalIP', address: 'fd00::1' },
      { type: 'Hostname', address: 'n1' },
    ]);
  });

  it('are not told while nobody knows them', () => {
    expect(addresses(SETTINGS, undefined)).toBeUndefined();
  });
});

describe('nodeInfo and labels', () => {
  it('tell the runtime by the scheme of its container ids and a parsable kubelet version', () => {
    expect(nodeInfo(HOST, '0.1.0')).toEqual({
      machineID: 'm',
      systemUUID: '',
      bootID: 'b',
      kernelVersion: '6.1.0',
      osImage: 'Debian',
      containerRuntimeVersion: 'docker://29.0.0',
      kubeletVersion: 'v1.36.3-outrigger-0.1.0',
      kubeProxyVersion: '',
      operatingSystem: 'linux',
      architecture: 'amd64',
    });
  });

  it('name host, os and arch, with their old names', () => {
    expect(hostLabels('n1', HOST)).toEqual({
      'kubernetes.io/hostname': 'n1',
      'kubernetes.io/os': 'linux',
      'kubernetes.io/arch': 'amd64',
      'beta.kubernetes.io/os': 'linux',
      'beta.kubernetes.io/arch': 'amd64',
    });
    expect(hostLabels('n1', undefined)).toEqual({ 'kubernetes.io/hostname': 'n1' });
  });
});

describe('images', () => {
  const images = [
    { names: ['small:1'], sizeBytes: 1 },
    { names: ['big:2', 'big:1', 'big@sha256:b', 'big@sha256:a', 'x:1', 'y:1'], sizeBytes: 9 },
    { names: [], sizeBytes: 100 },
  ];

  it('are listed biggest first, digests first, five names each', () => {
    expect(nodeImages(images, 50)).toEqual([
      { names: ['big@sha256:a', 'big@sha256:b', 'big:1', 'big:2', 'x:1'], sizeBytes: 9 },
      { names: ['small:1'], sizeBytes: 1 },
    ]);
  });

  it('are cut at the maximum, and not at all at -1', () => {
    expect(nodeImages(images, 1)).toHaveLength(1);
    expect(nodeImages(images, 0)).toEqual([]);
    expect(nodeImages(images, -1)).toHaveLength(2);
  });
});

describe('declared features', () => {
  it('promise WebSockets only where every stream is to be had', () => {
    const all = { exec: {}, attach: {}, dial: {} };
    expect(declaredFeatures(all)).toEqual(['ExtendWebSocketsToKubelet']);
    for (const missing of Object.keys(all)) expect(declaredFeatures({ ...all, [missing]: undefined })).toEqual([]);
  });
});

describe('facts for pods', () => {
  it('have the internal addresses and what is left after reservations', () => {
    const settings = { ...SETTINGS, reserved: { cpuMilli: 1000, memoryBytes: 2 ** 30, ephemeralBytes: 0 } };
    expect(nodeFacts(settings, HOST, { labels: { a: 'b' }, taints: [] }, '10.1.0.0/24')).toEqual({
      nodeName: 'n1',
      hostIPs: ['10.0.0.5'],
      podCidr: '10.1.0.0/24',
      runtimeName: 'docker',
      os: 'linux',
      arch: 'amd64',
      labels: { a: 'b' },
      taints: [],
      allocatable: { cpuMilli: 7000, memoryBytes: 31 * 2 ** 30, ephemeralBytes: 100 * 2 ** 30, pods: 110 },
    });
  });
});

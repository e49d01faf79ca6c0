import { describe, expect, it } from 'vitest';
import type { Pod } from '../model/pod.ts';
import { makeContainer, makeNodeFacts, makePod, type PodOverrides } from '../testing/builders.ts';
import { type AdmitInput, admit } from './admit.ts';

function judge(pod: PodOverrides, more: Partial<AdmitInput> = {}) {
  return admit({ pod: makePod(pod), others: [], facts: makeNodeFacts(), violations: [], ...more });
}

function asking(requests: Record<string, string>): PodOverrides {
  return { spec: { containers: [makeContainer('c', { resources: { requests } })] } };
}

function withHostPort(port: Record<string, unknown>): PodOverrides {
  return { spec: { containers: [makeContainer('c', { ports: [{ containerPort: 80, hostPort: 8080, ...port }] })] } };
}

const TOO_SMALL = makeNodeFacts({ allocatable: { cpuMilli: 4_000, memoryBytes: 2 ** 30, pods: 2 } });

// reference 6.2
describe('a pod that does not fit the room of the node is refused', () => {
  it('by cpu, in thousandths, counting the pods that are there', () => {
    const others = [makePod(asking({ cpu: '1' }))];
    expect(judge(asking({ cpu: '4' }), { others })).toEqual({
      reason: 'OutOfcpu',
      message: "Node didn't have enough resource: cpu, requested: 4000, used: 1000, capacity: 4000",
    });
    expect(judge(asking({ cpu: '3' }), { others })).toBeUndefined();
  });

  it('by memory, in bytes', () => {
    expect(judge(asking({ memory: '2Gi' }), { facts: TOO_SMALL })).toEqual({
      reason: 'OutOfmemory',
      message: "Node didn't have enough resource: memory, requested: 2147483648, used: 0, capacity: 1073741824",
    });
  });

  it('by ephemeral storage, where the node knows how much it has', () => {
    expect(judge(asking({ 'ephemeral-storage': '200Gi' }))?.reason).toBe('OutOfephemeral-storage');
    expect(judge(asking({ 'ephemeral-storage': '200Gi' }), { facts: TOO_SMALL })).toBeUndefined();
  });

  it('by the number of pods, before anything else', () => {
    const others = [makePod(), makePod()];
    expect(judge(asking({ cpu: '64' }), { others, facts: TOO_SMALL })).toEqual({
      reason: 'OutOfpods',
      message: "Node didn't have enough resource: pods, requested: 1, used: 2, capacity: 2",
    });
  });

  it('by huge pages, which no node here has, but not by extended resources that the node does not know', () => {
    expect(judge(asking({ 'hugepages-2Mi': '2Mi' }))).toEqual({
      reason: 'OutOfhugepages-2Mi',
      message: "Node didn't have enough resource: hugepages-2Mi, requested: 2097152, used: 0, capacity: 0",
    });
    expect(judge(asking({ 'example.com/gpu': '1' }))).toBeUndefined();
  });

  it('not when it asks for nothing, however full the node is', () => {
    expect(judge({}, { others: [makePod(asking({ cpu: '8' }))] })).toBeUndefined();
  });
});

// reference 6.2; operators as in k8s.io/component-helpers/scheduling/corev1/nodeaffinity
describe('a pod that asks for another node is refused', () => {
  const refusal = {
    reason: 'NodeAffinity',
    message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
  };
  const facts = makeNodeFacts({ labels: { zone: 'a', rank: '7', word: 'x7' } });

  it('by its node selector', () => {
    expect(judge({ spec: { nodeSelector: { zone: 'b' } } }, { facts })).toEqual(refusal);
    expect(judge({ spec: { nodeSelector: { zone: 'a', rank: '7' } } }, { facts })).toBeUndefined();
  });

  type Term = NonNullable<Pod['spec']['nodeSelector']> | object;
  const affinity = (...nodeSelectorTerms: Term[]): PodOverrides => ({
    spec: { affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } } },
  });

  it.each([
    ['In', 'zone', ['a', 'b'], true],
    ['In', 'zone', ['b'], false],
    ['In', 'none', ['a'], false],
    ['NotIn', 'zone', ['a'], false],
    ['NotIn', 'zone', ['b'], true],
    ['NotIn', 'none', ['a'], true],
    ['Exists', 'zone', [], true],
    ['Exists', 'none', [], false],
    ['DoesNotExist', 'zone', [], false],
    ['DoesNotExist', 'none', [], true],
    ['Gt', 'rank', ['6'], true],
    ['Gt', 'rank', ['7'], false],
    ['Gt', 'rank', ['6', '5'], false],
    ['Gt', 'none', ['6'], false],
    ['Gt', 'word', ['6'], false],
    ['Lt', 'rank', ['10'], true],
    ['Lt', 'rank', ['x'], false],
    ['Near', 'zone', ['a'], false],
  ])('by node affinity: %s on label %s with %j holds: %s', (operator, key, values, fits) => {
    const verdict = judge(affinity({ matchExpressions: [{ key, operator, values }] }), { facts });
    expect(verdict).toEqual(fits ? undefined : refusal);
  });

  it('unless one of several terms holds as a whole', () => {
    const zoneA = { key: 'zone', operator: 'In', values: ['a'] };
    const rank8 = { key: 'rank', operator: 'In', values: ['8'] };
    expect(judge(affinity({ matchExpressions: [rank8] }, { matchExpressions: [zoneA] }), { facts })).toBeUndefined();
    expect(judge(affinity({ matchExpressions: [rank8, zoneA] }), { facts })).toEqual(refusal);
    expect(judge(affinity({}), { facts })).toEqual(refusal);
  });

  it('by the node name as a field', () => {
    const named = (name: string) =>
      affinity({ matchFields: [{ key: 'metadata.name', operator: 'In', values: [name] }] });
    expect(judge(named('node'), { facts })).toBeUndefined();
    expect(judge(named('other'), { facts })).toEqual(refusal);
  });

  it('not by what it merely prefers', () => {
    const preference = { matchExpressions: [{ key: 'zone', operator: 'In', values: ['b'] }] };
    const preferredDuringSchedulingIgnoredDuringExecution = [{ weight: 1, preference }];
    const spec = { affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution } } };
    expect(judge({ spec }, { facts })).toBeUndefined();
  });

  it('by spec.nodeName', () => {
    expect(judge({ spec: { nodeName: 'other' } })).toEqual({
      reason: 'NodeName',
      message: "Predicate NodeName failed: node(s) didn't match the requested node name",
    });
  });
});

// reference 6.2
describe('host ports', () => {
  const refusal = {
    reason: 'NodePorts',
    message: "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  };

  it.each([
    ['the same port', {}, {}, false],
    ['another protocol', {}, { protocol: 'UDP' }, true],
    ['another port', {}, { hostPort: 8081 }, true],
    ['two addresses', { hostIP: '127.0.0.1' }, { hostIP: '127.0.0.2' }, true],
    ['one address and any', { hostIP: '127.0.0.1' }, { hostIP: '0.0.0.0' }, false],
    ['any and one address', {}, { hostIP: '127.0.0.1' }, false],
  ])('%s: fits is what the last column says', (_, mine, theirs, fits) => {
    const verdict = judge(withHostPort(mine), { others: [makePod(withHostPort(theirs))] });
    expect(verdict).toEqual(fits ? undefined : refusal);
  });

  it('of sidecars count, those of plain init containers do not', () => {
    const ports = [{ containerPort: 80, hostPort: 8080 }];
    const init = makePod({ spec: { initContainers: [makeContainer('i', { ports })] } });
    const sidecar = makePod({ spec: { initContainers: [makeContainer('s', { ports, restartPolicy: 'Always' })] } });
    expect(judge(withHostPort({}), { others: [init] })).toBeUndefined();
    expect(judge(withHostPort({}), { others: [sidecar] })).toEqual(refusal);
  });
});

// reference 6.2: only NoExecute
describe('taints', () => {
  const facts = makeNodeFacts({
    taints: [
      { key: 'virtual-kubelet.io/provider', value: 'docker', effect: 'NoSchedule' },
      { key: 'maintenance', value: 'yes', effect: 'NoExecute' },
    ],
  });
  const tolerating = (toleration: NonNullable<Pod['spec']['tolerations']>[number]) =>
    judge({ spec: { tolerations: [toleration] } }, { facts });

  it('with effect NoExecute refuse a pod that does not tolerate them', () => {
    expect(judge({}, { facts })).toEqual({
      reason: 'TaintToleration',
      message: "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
    });
  });

  it('with effect NoSchedule are the scheduler’s affair', () => {
    const [first] = facts.taints;
    expect(judge({}, { facts: { ...facts, taints: first === undefined ? [] : [first] } })).toBeUndefined();
  });

  it.each([
    [{ operator: 'Exists' }, true],
    [{ key: 'maintenance', operator: 'Exists' }, true],
    [{ key: 'maintenance', operator: 'Exists', effect: 'NoExecute' }, true],
    [{ key: 'maintenance', operator: 'Exists', effect: 'NoSchedule' }, false],
    [{ key: 'maintenance', value: 'yes' }, true],
    [{ key: 'maintenance', operator: 'Equal', value: 'no' }, false],
    [{ key: 'other', operator: 'Exists' }, false],
    [{ key: 'maintenance', operator: 'Gt', value: '1' }, false],
  ])('are tolerated by %j: %s', (toleration, fits) => {
    expect(tolerating(toleration) === undefined).toBe(fits);
  });
});

// reference 6.2
describe('the platform', () => {
  it('of the pod has to be that of the node', () => {
    expect(judge({ spec: { os: { name: 'windows' } } })).toEqual({
      reason: 'PodOSNotSupported',
      message: "Failed to admit pod as the OS field doesn't match node OS",
    });
    expect(judge({ metadata: { labels: { 'kubernetes.io/os': 'windows' } } })).toEqual({
      reason: 'PodOSSelectorNodeLabelDoesNotMatch',
      message: "Failed to admit pod as the `kubernetes.io/os` label doesn't match node label",
    });
    expect(judge({ spec: { os: { name: 'linux' } } })).toBeUndefined();
  });

  it('cannot keep groups strict', () => {
    expect(judge({ spec: { securityContext: { supplementalGroupsPolicy: 'Strict' } } })).toEqual({
      reason: 'SupplementalGroupsPolicyNotSupported',
      message: 'SupplementalGroupsPolicy=Strict is not supported in this node',
    });
    expect(judge({ spec: { securityContext: { supplementalGroupsPolicy: 'Merge' } } })).toBeUndefined();
  });
});

describe('what Outrigger or the provider cannot do', () => {
  const unsupported = { path: 'spec.volumes[0].nfs', why: 'not supported yet' };
  const violations = [{ reason: 'ProviderUnsupported', message: 'spec.hostNetwork: no host network' }];

  it('is refused, never ignored', () => {
    expect(judge({}, { unsupported, violations })).toEqual({
      reason: 'ProviderUnsupported',
      message: 'spec.volumes[0].nfs: not supported yet',
    });
    expect(judge({}, { violations })).toEqual(violations[0]);
  });

  it('comes after the kubelet’s own reasons', () => {
    expect(judge(asking({ cpu: '64' }), { unsupported, violations })?.reason).toBe('OutOfcpu');
  });
});

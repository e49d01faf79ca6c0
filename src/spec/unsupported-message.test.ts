import { describe, expect, it } from 'vitest';
import { makeContainer, makePod } from '../testing/builders.ts';
import { firstUnreadableMessage } from './unsupported-message.ts';

const ALL = { files: true, logs: true };

describe('termination messages of a pod', () => {
  it('ask nothing of a backend when they are as the API server writes them', () => {
    const container = { terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' };
    const pod = makePod({ spec: { containers: [makeContainer('c', container)] } });
    expect(firstUnreadableMessage(pod, { files: false, logs: false })).toBeUndefined();
  });

  it('at a path of their own need a backend that reads files', () => {
    const pod = makePod({ spec: { initContainers: [makeContainer('i', { terminationMessagePath: '/tmp/x' })] } });
    expect(firstUnreadableMessage(pod, ALL)).toBeUndefined();
    expect(firstUnreadableMessage(pod, { ...ALL, files: false })).toEqual({
      path: 'spec.initContainers[0].terminationMessagePath',
      why: 'the provider cannot read files of containers',
    });
  });

  it('from logs need a backend that has them', () => {
    const container = { terminationMessagePolicy: 'FallbackToLogsOnError' };
    const pod = makePod({ spec: { containers: [makeContainer(), makeContainer('d', container)] } });
    expect(firstUnreadableMessage(pod, { ...ALL, files: false })).toBeUndefined();
    expect(firstUnreadableMessage(pod, { ...ALL, logs: false })).toEqual({
      path: 'spec.containers[1].terminationMessagePolicy',
      why: 'the provider has no logs',
    });
  });
});

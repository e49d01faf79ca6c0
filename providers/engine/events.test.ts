import { describe, expect, it } from 'vitest';
import { parseEvent } from './events.ts';

const line = (action: string, attributes: object): string =>
  JSON.stringify({ Type: 'container', Action: action, Actor: { ID: 'c1', Attributes: attributes } });

describe('an event of the engine', () => {
  it('points at a pod', () => {
    expect(parseEvent(line('die', { 'io.kubernetes.pod.uid': 'u1', exitCode: '1' }))).toEqual({
      id: 'c1',
      uid: 'u1',
      oom: false,
    });
  });

  it('tells of a kill for memory', () => {
    expect(parseEvent(line('oom', { 'io.kubernetes.pod.uid': 'u1' }))).toMatchObject({ oom: true });
  });

  it.each([
    ['an exec', line('exec_create: sh', { 'io.kubernetes.pod.uid': 'u1' })],
    ['our own writing of files', line('extract-to-dir', { 'io.kubernetes.pod.uid': 'u1' })],
    ['no pod', line('die', {})],
    ['no actor', '{"Action":"die"}'],
    ['no JSON', '{'],
    ['no object', 'null'],
  ])('says nothing: %s', (_, text) => {
    expect(parseEvent(text)).toBeUndefined();
  });
});

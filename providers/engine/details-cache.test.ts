import type Docker from 'dockerode';
import { describe, expect, it } from 'vitest';
import { DetailsCache } from './details-cache.ts';

function details(status: string) {
  // The fields that are looked at.
  const State = { Status: status, Running: status === 'running' };
  return { info: { State } as unknown as Docker.ContainerInspectInfo, imageId: 'i' };
}

describe('what is known of a container', () => {
  it('is kept only while events are watched', () => {
    const cache = new DetailsCache();
    cache.put(cache.ticket(), 'a', details('running'));
    expect(cache.get('a', 'running')).toBeUndefined();
    const ended = cache.watch();
    cache.put(cache.ticket(), 'a', details('running'));
    expect(cache.get('a', 'running')).toBeDefined();
    ended();
    expect(cache.get('a', 'running')).toBeUndefined();
  });

  it('includes a kill for memory that the engine told of after the end, as long as the container is there', () => {
    const cache = new DetailsCache();
    cache.sawOom('a');
    cache.keepOnly(['a']);
    expect(cache.hadOom('a')).toBe(true);
    cache.keepOnly(['b']);
    expect(cache.hadOom('a')).toBe(false);
  });

  it('is dropped by an event, also when the answer comes after it', () => {
    const cache = new DetailsCache();
    cache.watch();
    const ticket = cache.ticket();
    cache.invalidate('a');
    cache.put(ticket, 'a', details('exited'));
    expect(cache.get('a', 'exited')).toBeUndefined();
  });

  it('is not believed against a newer list', () => {
    const cache = new DetailsCache();
    cache.watch();
    cache.put(cache.ticket(), 'a', details('running'));
    expect(cache.get('a', 'exited')).toBeUndefined();
  });

  it('is forgotten with the container', () => {
    const cache = new DetailsCache();
    cache.watch();
    cache.put(cache.ticket(), 'a', details('exited'));
    cache.keepOnly(['b']);
    expect(cache.get('a', 'exited')).toBeUndefined();
  });
});

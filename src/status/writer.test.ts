import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import { ApiUnreachable, KubeError } from '../kube/errors.ts';
import type { PatchResult } from '../kube/pods.ts';
import { type Pod, type PodStatus, podUid } from '../model/pod.ts';
import { FakeClock, settle } from '../testing/fake-clock.ts';
import { StatusWriter } from './writer.ts';

const { signal } = new AbortController();
const log = pino({ level: 'silent' });

describe('StatusWriter', () => {
  let clock: FakeClock;
  let api: FakePods;
  let writer: StatusWriter;
  beforeEach(() => {
    clock = new FakeClock();
    api = new FakePods();
    writer = new StatusWriter({ pods: api, clock, log, signal, concurrency: 2, random: () => 0 });
  });

  it('sends the difference to what the API server holds, without asking first', async () => {
    const pod = api.add('a', { phase: 'Pending', conditions: [{ type: 'Gate', status: 'True' }] });
    await writer.flush(pod, { phase: 'Running' }, { signal });
    expect(api.calls).toEqual(['patch a {"phase":"Running"}']);
  });

  it('sends nothing when the API server already says the same, as after a restart', async () => {
    const pod = api.add('a', { phase: 'Running', podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }] });
    await writer.flush(pod, { podIPs: [{ ip: '10.0.0.1' }], podIP: '10.0.0.1', phase: 'Running' }, { signal });
    expect(api.calls).toEqual([]);
  });

  it('sends nothing for a status that is acknowledged already', async () => {
    const pod = api.add('a');
    await writer.flush(pod, { phase: 'Running' }, { signal });
    writer.submit(pod, { phase: 'Running' });
    await writer.flush(pod, { phase: 'Running' }, { signal });
    expect(api.calls).toHaveLength(1);
  });

  it('keeps one write per pod in flight and sends only the newest status afterwards', async () => {
    const pod = api.add('a');
    const release = api.hold();
    writer.submit(pod, { message: '1' });
    await settle();
    writer.submit(pod, { message: '2' });
    writer.submit(pod, { message: '3' });
    await settle();
    expect(api.calls).toEqual(['patch a {"message":"1"}']);
    release();
    await settle();
    expect(api.calls).toEqual(['patch a {"message":"1"}', 'patch a {"message":"3"}']);
    expect(writer.pending).toBe(0);
  });

  it('resolves a flush whose status was overtaken by a newer one', async () => {
    const pod = api.add('a');
    const release = api.hold();
    writer.submit(pod, { message: '1' });
    await settle();
    const flushed = writer.flush(pod, { message: '2' }, { signal });
    writer.submit(pod, { message: '3' });
    release();
    await flushed;
    expect(api.status('a')).toEqual({ message: '3' });
  });

  it('bounds the writes over all pods', async () => {
    const release = api.hold();
    for (const name of ['a', 'b', 'c', 'd']) writer.submit(api.add(name), { phase: 'Running' });
    await settle();
    expect(api.calls).toHaveLength(2);
    release();
    await settle();
    expect(api.calls).toHaveLength(4);
  });

  it('loses nothing while the API server is away, and then sends only the newest', async () => {
    const pod = api.add('a');
    api.failure = new ApiUnreachable('refused');
    writer.submit(pod, { message: '1' });
    await clock.advance(60_000);
    writer.submit(pod, { message: '2' });
    api.failure = undefined;
    api.calls.length = 0;
    await clock.advance(8_000);
    expect(api.calls).toEqual(['get a', 'patch a {"message":"2"}']);
    expect(writer.pending).toBe(0);
  });

  it('backs off between tries, and waits as long as a 429 asks for', async () => {
    const pod = api.add('a');
    api.failure = new KubeError(429, {}, 'busy', 20_000);
    writer.submit(pod, { message: '1' });
    await clock.advance(19_999);
    expect(api.calls).toHaveLength(1);
    api.failure = undefined;
    await clock.advance(1);
    expect(api.status('a')).toEqual({ message: '1' });
  });

  it('undoes a write whose answer was lost when the status went back meanwhile', async () => {
    const pod = api.add('a', { phase: 'Pending' });
    api.loseAnswer = true;
    writer.submit(pod, { phase: 'Running' });
    await settle();
    expect(api.status('a')).toEqual({ phase: 'Running' });
    api.loseAnswer = false;
    const flushed = writer.flush(pod, { phase: 'Pending' }, { signal });
    await clock.advance(1_000);
    await flushed;
    expect(api.status('a')).toEqual({ phase: 'Pending' });
  });

  it('lets a flush end when its signal aborts', async () => {
    const abort = new AbortController();
    api.failure = new ApiUnreachable('refused');
    const flushed = writer.flush(api.add('a'), { phase: 'Failed' }, { signal: abort.signal });
    await settle();
    abort.abort(new Error('enough'));
    await expect(flushed).rejects.toThrow('enough');
  });

  it('takes a pod that is gone as acknowledged, and sends nothing more for it', async () => {
    const pod = api.add('a');
    api.delete('a');
    await writer.flush(pod, { phase: 'Running' }, { signal });
    await writer.flush(pod, { phase: 'Failed' }, { signal });
    expect(api.calls).toHaveLength(1);
  });

  describe('with the watch', () => {
    let pod: Pod;
    beforeEach(async () => {
      pod = api.add('a', { phase: 'Pending' });
      await writer.flush(pod, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] }, { signal });
      api.calls.length = 0;
    });

    it('does not answer the echo of its own writes, early, late or out of date', async () => {
      const release = api.hold();
      const echo = api.pod('a');
      writer.submit(pod, { phase: 'Failed' });
      writer.observeApi(echo);
      await settle();
      writer.observeApi(api.pod('a'));
      release();
      await settle();
      writer.observeApi(echo);
      writer.observeApi(api.pod('a'));
      await clock.advance(60_000);
      expect(api.calls).toHaveLength(1);
    });

    it('ignores what others write into their own fields', async () => {
      api.edit('a', (status) => {
        status.conditions?.push({ type: 'Gate', status: 'True' });
      });
      writer.observeApi(api.pod('a'));
      await clock.advance(60_000);
      expect(api.calls).toEqual([]);
    });

    it('sends its status again when somebody changed our fields, at most every ten seconds', async () => {
      const edit = (): void => {
        api.edit('a', (status) => {
          status.phase = 'Unknown';
        });
        writer.observeApi(api.pod('a'));
      };
      edit();
      await settle();
      expect(api.calls).toEqual(['patch a {"phase":"Running"}']);
      edit();
      await clock.advance(9_999);
      expect(api.calls).toHaveLength(1);
      await clock.advance(1);
      expect(api.calls).toHaveLength(2);
      expect(api.status('a').phase).toBe('Running');
    });

    it('notices a foreign edit also when the worker brings it', async () => {
      api.edit('a', (status) => {
        status.phase = 'Unknown';
      });
      writer.submit(api.pod('a'), { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
      await settle();
      expect(api.status('a').phase).toBe('Running');
    });

    it('does not hold up a new status while it waits to answer a foreign edit', async () => {
      for (let i = 0; i < 2; i++) {
        api.edit('a', (status) => {
          status.phase = 'Unknown';
        });
        writer.observeApi(api.pod('a'));
        await settle();
      }
      await writer.flush(pod, { phase: 'Failed' }, { signal });
      expect(api.status('a').phase).toBe('Failed');
    });
  });

  it('deletes after the last write has ended, and sends no status any more', async () => {
    const pod = api.add('a');
    const release = api.hold();
    writer.submit(pod, { phase: 'Failed' });
    await settle();
    const removed = writer.remove(pod, { signal });
    writer.submit(pod, { phase: 'Running' });
    await settle();
    expect(api.calls).toHaveLength(1);
    release();
    await removed;
    expect(api.calls).toEqual(['patch a {"phase":"Failed"}', 'delete a']);
  });

  it('tries to delete until the API server answers', async () => {
    const pod = api.add('a');
    api.failure = new ApiUnreachable('refused');
    const removed = writer.remove(pod, { signal });
    await clock.advance(30_000);
    api.failure = undefined;
    await clock.advance(8_000);
    await removed;
    expect(api.calls.at(-1)).toBe('delete a');
    expect(api.calls.length).toBeLessThan(15);
  });

  it('forgets a pod: a timer that was set for it sends nothing', async () => {
    const pod = api.add('a');
    api.failure = new ApiUnreachable('refused');
    writer.submit(pod, { phase: 'Running' });
    await settle();
    writer.forget(podUid(pod));
    api.failure = undefined;
    await clock.advance(60_000);
    expect(api.calls).toHaveLength(1);
    expect(writer.pending).toBe(0);
  });
});

/** Pods in memory that take patches of plain fields (the merging of lists is the real API server's, see the integration test). */
class FakePods {
  readonly calls: string[] = [];
  failure: Error | undefined;
  loseAnswer = false;
  readonly #pods = new Map<string, Pod>();
  #version = 100;
  #gate: Promise<void> = Promise.resolve();

  add(name: string, status: PodStatus = {}): Pod {
    const metadata = { name, namespace: 'ns', uid: `uid-${name}`, resourceVersion: String(this.#version++) };
    this.#pods.set(name, { metadata, spec: { containers: [] }, status });
    return this.pod(name);
  }

  /** A copy, as every answer is one. */
  pod(name: string): Pod {
    const pod = this.#pods.get(name);
    if (pod === undefined) throw new Error(`no pod ${name}`);
    return structuredClone(pod);
  }

  status(name: string): PodStatus {
    return this.pod(name).status ?? {};
  }

  edit(name: string, change: (status: PodStatus) => void): void {
    const pod = this.pod(name);
    pod.status ??= {};
    change(pod.status);
    pod.metadata.resourceVersion = String(this.#version++);
    this.#pods.set(name, pod);
  }

  delete(name: string): void {
    this.#pods.delete(name);
  }

  /** Writes are applied, but their answers wait until the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gate = promise;
    return resolve;
  }

  async get(pod: Pod): Promise<Pod | undefined> {
    this.calls.push(`get ${pod.metadata.name}`);
    if (this.failure) throw this.failure;
    return this.#pods.has(pod.metadata.name) ? this.pod(pod.metadata.name) : undefined;
  }

  async patchStatus(pod: Pod, patch: object): Promise<PatchResult> {
    const { name } = pod.metadata;
    this.calls.push(`patch ${name} ${JSON.stringify(patch)}`);
    if (this.failure) throw this.failure;
    if (!this.#pods.has(name)) return { type: 'gone' };
    this.edit(name, (status) => {
      for (const [key, value] of Object.entries(patch)) {
        if (!key.startsWith('$')) Object.assign(status, { [key]: value ?? undefined });
      }
    });
    const written = this.pod(name);
    await this.#gate;
    if (this.loseAnswer) throw new ApiUnreachable('reset');
    return { type: 'written', pod: written };
  }

  async remove(pod: Pod): Promise<void> {
    this.calls.push(`delete ${pod.metadata.name}`);
    if (this.failure) throw this.failure;
    this.delete(pod.metadata.name);
  }
}

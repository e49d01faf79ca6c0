import { describe, expect, it } from 'vitest';
import type { ConfigMap } from '../model/pod.ts';
import { makeContainer, makeStoredPod, POD_UID } from '../testing/builders.ts';
import { Harness, startedHarness } from '../testing/harness.ts';
import type { ObjectSource } from './env-objects.ts';

/** Objects that come and go, by name. */
class Objects implements ObjectSource {
  readonly configMaps = new Map<string, ConfigMap>();
  readonly configMap = async (_uid: string, _namespace: string, name: string) => this.configMaps.get(name);
  readonly secret = async () => undefined;
}

const waiting = (harness: Harness) => harness.status(POD_UID).containerStatuses?.[0]?.state?.waiting;

describe('a container whose environment refers to objects', () => {
  // Case 016 of the oracle, recorded on the kubelet.
  it('waits for a ConfigMap that is not there, and starts with it', async () => {
    const objects = new Objects();
    const harness = new Harness({ objects });
    await harness.start();
    const env = [{ name: 'V', valueFrom: { configMapKeyRef: { name: 'late', key: 'k' } } }];
    await harness.create(makeStoredPod({ containers: [makeContainer('c', { env, command: ['sleep', '$(V)'] })] }));
    await harness.clock.advance(1_000);
    expect(waiting(harness)).toEqual({
      reason: 'CreateContainerConfigError',
      message: 'configmap "late" not found',
    });
    expect(harness.events).toContain('Failed: Error: configmap "late" not found');
    objects.configMaps.set('late', { metadata: { name: 'late', uid: 'u' }, data: { k: '1000' } });
    await harness.clock.advance(16_000);
    expect(harness.containers()).toEqual(['c#0 running']);
    expect(harness.status(POD_UID).containerStatuses?.[0]?.restartCount).toBe(0);
    const [made] = [...harness.backend.pods.values()].flatMap((pod) => [...pod.containers.values()]);
    expect(made?.spec).toMatchObject({ env: [{ name: 'V', value: '1000' }], command: ['sleep', '1000'] });
  });
});

describe('a pod with a name of its own', () => {
  // Case 075.
  it('has no sandbox while its full name is too long for the kernel', async () => {
    const harness = await startedHarness();
    const hostname = 'a-rather-long-host-name-for-this';
    const subdomain = 'and-a-long-subdomain-too';
    await harness.create(makeStoredPod({ hostname, subdomain, setHostnameAsFQDN: true }));
    await harness.clock.advance(1_000);
    const fqdn = `${hostname}.${subdomain}.ns.svc.cluster.local`;
    expect(harness.events).toEqual([
      `FailedCreatePodSandBox: Failed to create pod sandbox: failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long (64 characters is the max, ${fqdn.length} characters requested)`,
    ]);
    expect(harness.backend.pods.size).toBe(0);
  });
});

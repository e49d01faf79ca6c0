import { describe, expect, it } from 'vitest';
import { type HostReport, ProviderError } from '../../providers/contract/index.ts';
import { ApiUnreachable } from '../kube/errors.ts';
import { existingNode, setUpAgent } from '../testing/agent-setup.ts';
import { HOST } from '../testing/fake-node-objects.ts';
import { PodNetworks } from './pod-networks.ts';

describe('when the backend fails', () => {
  const down = (): Promise<HostReport> => Promise.reject(new ProviderError('Unavailable', 'connect ENOENT /x.sock'));

  it('the node is NotReady within a heartbeat, in the words of the backend, and Ready again at once afterwards', async () => {
    const { clock, api, host, events, agent } = setUpAgent();
    await clock.advance(1_000);
    events.length = 0;
    host.answer = down;
    await clock.advance(10_000);
    expect(api.condition('Ready')).toMatchObject({
      status: 'False',
      reason: 'KubeletNotReady',
      message:
        '[container runtime is down, container runtime not ready: RuntimeReady=false reason:Unavailable message:connect ENOENT /x.sock]',
    });
    expect(agent.facts()).toBeDefined();
    const renewals = api.count('lease replace');
    await clock.advance(60_000);
    expect(api.count('lease replace')).toBeGreaterThan(renewals + 4);
    expect(api.patches).toHaveLength(1);
    host.answer = async () => HOST;
    await clock.advance(1_200);
    expect(api.condition('Ready')).toMatchObject({ status: 'True' });
    expect(events.map((event) => event.split(' ')[2])).toEqual(['NodeNotReady:', 'NodeReady:']);
  });

  it('the same goes for a PLEG that has not listed for three minutes', async () => {
    const { clock, api, pleg } = setUpAgent();
    await clock.advance(1_000);
    pleg.healthy = false;
    await clock.advance(10_500);
    expect(api.condition('Ready')?.message).toMatch(/^PLEG is not healthy: pleg was last seen active \d+s ago/);
  });
});

describe('the pod network', () => {
  it('is missing until the Node has a podCIDR, and the node is Ready as soon as it has', async () => {
    const { clock, api, agent, changed } = setUpAgent({ subnet: 'required' });
    await clock.advance(5_000);
    expect(api.condition('Ready')?.message).toBe(
      'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:no pod network: neither --pod-cidr nor spec.podCIDR of the node is set',
    );
    expect(agent.facts()).not.toHaveProperty('podCidr');
    api.edit((node) => ({ ...node, spec: { ...node.spec, podCIDR: '10.244.7.0/24' } }));
    changed();
    await clock.advance(200);
    expect(api.condition('Ready')).toMatchObject({ status: 'True' });
    expect(agent.facts()?.podCidr).toBe('10.244.7.0/24');
  });

  it('is refused when it overlaps that of another node of this process', async () => {
    const networks = new PodNetworks([{ name: 'n2', podCidr: '10.244.0.0/16' }]);
    const { clock, api } = setUpAgent({ subnet: 'required', existing: existingNode, options: { networks } });
    await clock.advance(0);
    expect(api.condition('Ready')?.message).toContain('pod network 10.244.3.0/24 overlaps 10.244.0.0/16 of node n2');
  });
});

describe('while the API server is away', () => {
  it('it is tried again soon, not forever fast, and the status catches up when it is back', async () => {
    const { clock, api, host } = setUpAgent();
    await clock.advance(1_000);
    api.failure = new ApiUnreachable('away');
    const before = api.count('get');
    host.answer = () => Promise.reject(new ProviderError('Unavailable', 'gone'));
    await clock.advance(60_000);
    expect(api.count('get') - before).toBeLessThan(20);
    api.failure = undefined;
    await clock.advance(10_000);
    expect(api.condition('Ready')).toMatchObject({ status: 'False' });
  });

  it('a first registration waits for it', async () => {
    const { clock, api } = setUpAgent();
    api.failure = new ApiUnreachable('away');
    await clock.advance(20_000);
    expect(api.node).toBeUndefined();
    api.failure = undefined;
    await clock.advance(10_000);
    expect(api.node).toBeDefined();
    expect(api.lease).toBeDefined();
  });
});

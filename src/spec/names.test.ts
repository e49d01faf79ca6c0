import { describe, expect, it } from 'vitest';
import type { Pod } from '../model/pod.ts';
import { makePod } from '../testing/builders.ts';
import { sandboxNames } from './names.ts';

const names = (spec: Partial<Pod['spec']>, name = 'p') =>
  sandboxNames(makePod({ metadata: { name }, spec }), 'cluster.local');

// GeneratePodHostNameAndDomain, truncatePodHostnameIfNeeded and GetNodenameForKernel in the kubelet; reference 10.6.
describe('names of a sandbox', () => {
  it('are the name of the pod unless the pod names one', () => {
    expect(names({}, 'web-0')).toEqual({ hostname: 'web-0', hostnames: ['web-0'] });
    expect(names({ hostname: 'custom' })).toEqual({ hostname: 'custom', hostnames: ['custom'] });
    expect(names({ hostname: '' }).hostname).toBe('p');
  });

  it('are cut to 63 characters and do not end in a dash or dot then', () => {
    const long = `${'a'.repeat(60)}-.-${'b'.repeat(20)}`;
    expect(names({}, long).hostname).toBe('a'.repeat(60));
    const whole = 'b'.repeat(63);
    expect(names({}, whole).hostname).toBe(whole);
  });

  // Case 074 of the oracle, recorded on the kubelet.
  it('have the domain of a subdomain in the hosts file only', () => {
    expect(names({ hostname: 'custom', subdomain: 'sub' })).toEqual({
      hostname: 'custom',
      hostnames: ['custom.sub.ns.svc.cluster.local', 'custom'],
    });
  });

  // Case 075.
  it('are the whole name where the pod asks for it, as long as the kernel takes it', () => {
    expect(names({ hostname: 'custom', subdomain: 'sub', setHostnameAsFQDN: true })).toEqual({
      hostname: 'custom.sub.ns.svc.cluster.local',
      hostnames: ['custom.sub.ns.svc.cluster.local', 'custom'],
    });
    expect(names({ setHostnameAsFQDN: true }).hostname).toBe('p');
    const rest = '.sub.ns.svc.cluster.local'.length;
    const fits = { hostname: 'x'.repeat(64 - rest), subdomain: 'sub', setHostnameAsFQDN: true };
    expect(names(fits).hostname).toHaveLength(64);
    const long = { hostname: 'a-rather-long-host-name-for-this', subdomain: 'and-a-long-subdomain-too' };
    const fqdn = 'a-rather-long-host-name-for-this.and-a-long-subdomain-too.ns.svc.cluster.local';
    expect(() => names({ ...long, setHostnameAsFQDN: true })).toThrow(
      `failed to construct FQDN from pod hostname and cluster domain, FQDN ${fqdn} is too long (64 characters is the max, ${fqdn.length} characters requested)`,
    );
    expect(names({ ...long, setHostnameAsFQDN: false }).hostname).toBe('a-rather-long-host-name-for-this');
  });

  it('may be overridden, without any domain', () => {
    expect(names({ hostnameOverride: 'x.example.org', hostname: 'custom', subdomain: 'sub' })).toEqual({
      hostname: 'x.example.org',
      hostnames: ['x.example.org'],
    });
  });

  it("are the node's own on its network", () => {
    expect(names({ hostNetwork: true, hostname: 'x' })).toEqual({ hostname: '' });
  });
});

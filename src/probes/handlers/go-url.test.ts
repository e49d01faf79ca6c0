import { describe, expect, it } from 'vitest';
import { followLocation, probeUrl, requestTarget, urlText } from './go-url.ts';

describe('the URL of a probe (kubelet: probe/http formatURL, Go: net/url)', () => {
  it.each([
    ['/', 'http://10.1.2.3:8080/', '/'],
    ['', 'http://10.1.2.3:8080', '/'],
    ['healthz', 'http://10.1.2.3:8080/healthz', '/healthz'],
    ['/shell?cmd=sleep%205', 'http://10.1.2.3:8080/shell?cmd=sleep%205', '/shell?cmd=sleep%205'],
    ['/a b', 'http://10.1.2.3:8080/a%20b', '/a%20b'],
    ['/a%2Fb', 'http://10.1.2.3:8080/a%2Fb', '/a%2Fb'],
    ['/ü', 'http://10.1.2.3:8080/%C3%BC', '/%C3%BC'],
    ['/%zz?x', 'http://10.1.2.3:8080/%25zz%3Fx', '/%25zz%3Fx'],
    ['/a#b', 'http://10.1.2.3:8080/a#b', '/a'],
    ['/a?', 'http://10.1.2.3:8080/a', '/a'],
    ['//evil/x', 'http://10.1.2.3:8080/x', '/x'],
    ['https://evil:1/x?y', 'http://10.1.2.3:8080/x?y', '/x?y'],
    ["/it's(a)*", "http://10.1.2.3:8080/it's(a)*", "/it's(a)*"],
  ])('%s', (path, text, target) => {
    const url = probeUrl('http', '10.1.2.3', 8080, path);
    expect([urlText(url), requestTarget(url)]).toEqual([text, target]);
  });

  it('puts an IPv6 address into brackets', () => {
    expect(urlText(probeUrl('https', 'fd00::7', 443, '/x'))).toBe('https://[fd00::7]:443/x');
  });
});

describe('where a redirect leads', () => {
  const from = probeUrl('http', '10.1.2.3', 8080, '/a/b?q=1');
  it.each([
    ['/x', 'http://10.1.2.3:8080/x', '10.1.2.3', 8080],
    ['x', 'http://10.1.2.3:8080/a/x', '10.1.2.3', 8080],
    ['?z', 'http://10.1.2.3:8080/a/b?z', '10.1.2.3', 8080],
    ['http://10.1.2.3/x', 'http://10.1.2.3/x', '10.1.2.3', 80],
    ['https://10.1.2.3/x', 'https://10.1.2.3/x', '10.1.2.3', 443],
    ['//other:81/x', 'http://other:81/x', 'other', 81],
    ['http://u:p@10.1.2.3:9/x', 'http://10.1.2.3:9/x', '10.1.2.3', 9],
    ['http://[fd00::7]:9', 'http://[fd00::7]:9', 'fd00::7', 9],
  ])('%s', (location, text, host, port) => {
    const url = followLocation(from, location);
    expect(url && [urlText(url), url.host, url.port]).toEqual([text, host, port]);
  });

  it.each(['http://a:b:c/', '/%zz%', 'http://10.1.2.3/%zz', '/a\u0000b'])(
    '%j leads nowhere or stays a path',
    (location) => {
      const url = followLocation(from, location);
      expect(url === undefined || url.host === '10.1.2.3').toBe(true);
    },
  );
});

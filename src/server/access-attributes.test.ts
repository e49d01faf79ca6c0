import { describe, expect, it } from 'vitest';
import { accessAttributes } from './access-attributes.ts';

const subresources = (path: string): string =>
  accessAttributes('GET', path)
    .map((each) => each.subresource)
    .join(' ');

/** Reference 11.12; kubelet: TestGetRequestAttributes. */
describe('what a path is, to the authorizer', () => {
  it.each([
    ['/pods', 'pods proxy'],
    ['/pods/', 'pods proxy'],
    ['/runningpods/', 'pods proxy'],
    ['/runningpods', 'pods proxy'],
    ['/healthz', 'healthz proxy'],
    ['/healthz/syncloop', 'healthz proxy'],
    ['/configz', 'configz proxy'],
    ['/stats', 'stats'],
    ['/stats/summary', 'stats'],
    ['/metrics', 'metrics'],
    ['/metrics/cadvisor', 'metrics'],
    ['/metrics/resource', 'metrics'],
    ['/logs', 'log'],
    ['/logs/syslog', 'log'],
    ['/checkpoint/ns/p/c', 'checkpoint'],
    ['/statusz', 'statusz'],
    ['/flagz', 'configz'],
    ['/exec/ns/p/c', 'proxy'],
    ['/attach/ns/p/c', 'proxy'],
    ['/portForward/ns/p', 'proxy'],
    ['/run/ns/p/c', 'proxy'],
    ['/containerLogs/ns/p/c', 'proxy'],
    ['/debug/pprof/profile', 'proxy'],
    ['/debug/flags/v', 'proxy'],
    ['/', 'proxy'],
    ['', 'proxy'],
    // Only whole parts of a path count, and only as they are written.
    ['/podsfoo', 'proxy'],
    ['/metricsfoo', 'proxy'],
    ['/METRICS', 'proxy'],
    ['/exec/metrics', 'proxy'],
    ['metrics', 'proxy'],
  ])('%s: %s', (path, expected) => {
    expect(subresources(path)).toBe(expected);
  });

  it.each([
    ['GET', 'get'],
    ['POST', 'create'],
    ['PUT', 'update'],
    ['PATCH', 'patch'],
    ['DELETE', 'delete'],
    // Nothing that a role names, so only `*` allows them.
    ['HEAD', ''],
    ['OPTIONS', ''],
    ['toString', ''],
  ])('the verb of %s is %j', (method, verb) => {
    expect(accessAttributes(method, '/exec')).toEqual([{ verb, subresource: 'proxy' }]);
  });
});

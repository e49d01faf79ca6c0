import { expect, it } from 'vitest';
import { pathLabels } from './http-metrics.ts';

it.each([
  ['/exec/ns/p/c?command=x', 'exec', 'true'],
  ['/attach/ns/p/c', 'attach', 'true'],
  ['/portForward/ns/p', 'portForward', 'false'],
  ['/metrics', 'metrics', 'false'],
  ['/metrics/resource', 'metrics/resource', 'false'],
  ['/metrics/anything', 'metrics', 'false'],
  ['/debug/pprof/profile', 'debug', 'true'],
  ['/wp-login.php', 'other', 'false'],
  ['/', '', 'false'],
  ['*', '', 'false'],
])('the request %s counts under the path %j', (url, path, longRunning) => {
  expect(pathLabels(url)).toEqual({ path, long_running: longRunning });
});

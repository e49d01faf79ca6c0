import { expect, it } from 'vitest';
import { debugDisabled } from './debug-handlers.ts';

it.each([
  '/run/ns/p/c',
  '/exec/ns/p/c',
  '/attach/ns/p/c',
  '/portForward/ns/p',
  '/containerLogs/ns/p/c',
  '/runningpods/',
  '/runningpods',
  '/debug/pprof/profile',
  '/logs/',
])('%s says so when debugging is off', (path) => {
  expect(debugDisabled(path)).toBe(true);
});

it.each(['/configz', '/checkpoint/ns/p/c', '/flagz', '/debug/flags/v', '/pods', '/metrics', '/executive'])(
  '%s does not',
  (path) => {
    expect(debugDisabled(path)).toBe(false);
  },
);

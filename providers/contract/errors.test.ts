import { expect, it } from 'vitest';
import { PROVIDER_ERROR_CODES, ProviderError } from './errors.ts';

const codes = (is: (error: ProviderError) => boolean) =>
  PROVIDER_ERROR_CODES.filter((code) => is(new ProviderError(code, 'x')));

it('three codes say that nothing is known about the pod', () => {
  expect(codes(({ outage }) => outage)).toEqual(['Unauthorized', 'Throttled', 'Unavailable']);
});

it('two codes say that another try is pointless', () => {
  expect(codes(({ permanent }) => permanent)).toEqual(['InvalidSpec', 'Unsupported']);
});

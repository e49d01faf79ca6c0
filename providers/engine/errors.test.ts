import { describe, expect, it } from 'vitest';
import { ProviderError } from '../contract/index.ts';
import { abortError } from '../shared/abort-error.ts';
import { recoded, statusBehind, toProviderError } from './errors.ts';
import { pullError, pullFailure } from './pull-stream.ts';

function answer(statusCode: number, message: string): Error {
  return Object.assign(new Error(`(HTTP code ${statusCode}) server error - ${message} `), {
    statusCode,
    json: { message },
  });
}

describe('a failure of the engine', () => {
  it.each([
    [400, 'InvalidSpec'],
    [401, 'Unauthorized'],
    [404, 'NotFound'],
    [409, 'Internal'],
    [429, 'Throttled'],
    [500, 'Internal'],
    [503, 'Unavailable'],
  ])('with status %i is %s', (status, code) => {
    const error = toProviderError(answer(status, 'words of the engine'));
    expect(error).toMatchObject({ code, message: expect.stringContaining('words of the engine') });
    expect(statusBehind(error)).toBe(status);
  });

  it.each(['ECONNREFUSED', 'ENOENT', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'])(
    'without an answer (%s) says nothing',
    (code) => {
      expect(toProviderError(Object.assign(new Error(`connect ${code}`), { code })).code).toBe('Unavailable');
    },
  );

  it('of a socket that we may not open is ours', () => {
    expect(toProviderError(Object.assign(new Error('x'), { code: 'EACCES' })).code).toBe('Unauthorized');
  });

  it('keeps the words of an answer that was a stream', () => {
    const error = Object.assign(new Error('(HTTP code 404) unexpected - no such thing '), {
      statusCode: 404,
      json: null,
    });
    expect(toProviderError(error).message).toBe('no such thing');
  });

  it('is not given another reason when the engine could not be asked', () => {
    const silent = new ProviderError('Unavailable', 'x');
    expect(recoded(silent, 'StartError')).toBe(silent);
    expect(recoded(new ProviderError('Internal', 'x'), 'StartError')).toMatchObject({ reason: 'StartError' });
  });

  it('is an AbortError when the caller gave up', () => {
    const stopped = new AbortController();
    const reason = new Error('pod deleted');
    stopped.abort(reason);
    expect(abortError(stopped.signal)).toMatchObject({ name: 'AbortError', cause: reason });
  });
});

describe('a refused pull', () => {
  it.each([
    ['manifest for x:1 not found: manifest unknown: manifest unknown', 'ImageNotFound'],
    [
      "pull access denied for x, repository does not exist or may require 'docker login': denied: requested access to the resource is denied",
      'ImagePullDenied',
    ],
    ['Head "https://r/v2/x/manifests/1": unauthorized: authentication required', 'ImagePullDenied'],
    ['Get "https://r/v2/": dial tcp 127.0.0.1:443: connect: connection refused', 'Internal'],
    ['toomanyrequests: You have reached your pull rate limit', 'Throttled'],
    ['write /x: no space left on device', 'ResourceExhausted'],
    ['invalid reference format', 'InvalidSpec'],
  ])('%s', (words, code) => {
    expect(pullError('x:1', words, undefined)).toMatchObject({ code, message: `failed to pull image "x:1": ${words}` });
  });

  it('may come in the middle of the progress', () => {
    expect(pullFailure('{"status":"Downloading"}')).toBeUndefined();
    expect(pullFailure('{"errorDetail":{"message":"broken"},"error":"broken"}')).toBe('broken');
    expect(pullFailure('not json')).toBeUndefined();
  });
});

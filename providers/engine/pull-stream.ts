import { ProviderError } from '../contract/index.ts';
import { engineFailure } from './errors.ts';
import { parseJsonLine } from './json-line.ts';

/** An error that the engine wrote into the progress of a pull; undefined for progress. */
export function pullFailure(line: string): string | undefined {
  const parsed = parseJsonLine(line);
  if (parsed === undefined) return undefined;
  // Foreign data: each field is checked before it is used.
  const { error, errorDetail } = parsed as { error?: unknown; errorDetail?: { message?: unknown } };
  if (typeof errorDetail?.message === 'string') return errorDetail.message;
  return typeof error === 'string' ? error : undefined;
}

/**
 * The engine has one shape for every refusal of a registry, so this is the one place that reads words: what a registry's
 * answer means decides between "no such image", "not allowed" and "try again".
 */
export function pullError(image: string, words: string, cause: unknown): ProviderError {
  const message = `failed to pull image "${image}": ${words}`;
  const options = { cause, reason: 'ErrImagePull' };
  if (/unauthorized|denied|no basic auth credentials|authentication required|\b401\b|\b403\b/i.test(words)) {
    return new ProviderError('ImagePullDenied', message, options);
  }
  if (/not found|manifest unknown|name unknown|does not exist|no matching manifest/i.test(words)) {
    return new ProviderError('ImageNotFound', message, options);
  }
  if (/toomanyrequests|too many requests|rate limit/i.test(words)) {
    return new ProviderError('Throttled', message, options);
  }
  if (/no space left on device|disk quota exceeded/i.test(words)) {
    return new ProviderError('ResourceExhausted', message, options);
  }
  if (/invalid reference format|invalid tag format|must be lowercase/i.test(words)) {
    return new ProviderError('InvalidSpec', message, { cause, reason: 'InvalidImageName' });
  }
  // The registry could not be reached, or answered nonsense. Not `Unavailable`: the engine itself is well.
  return new ProviderError('Internal', message, options);
}

/** A refusal that came as the answer to the request itself. */
export function pullRefusal(image: string, error: unknown): unknown {
  if (!(error instanceof ProviderError) || error.code === 'Unavailable') return error;
  const failure = engineFailure(error.cause);
  return failure.status === undefined ? error : pullError(image, failure.message, error.cause);
}

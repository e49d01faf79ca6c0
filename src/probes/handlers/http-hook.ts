import { joinHostPort } from './dialing.ts';
import { followRedirects, GetError, type HttpGet, type HttpTarget } from './http.ts';

const WRONG_SCHEME = 'server gave HTTP response to HTTPS client';

/**
 * One GET of a lifecycle hook: any answer is a success. A server that speaks plain HTTP where HTTPS was asked for is asked once
 * more, without credentials; then its `host:port` is returned (reference 2.11). Rejects with Go's text.
 */
export async function requestOnce(get: HttpGet, target: HttpTarget, signal: AbortSignal): Promise<string | undefined> {
  // A hook has no time of its own: the signal ends it.
  const limits = { signal, expired: false };
  try {
    await followRedirects(get, target, limits);
    return undefined;
  } catch (error: unknown) {
    if (!(error instanceof GetError) || !error.message.includes(WRONG_SCHEME)) throw error;
    const httpHeaders = (get.httpHeaders ?? []).filter(({ name }) => name.toLowerCase() !== 'authorization');
    try {
      const { port } = await followRedirects({ ...get, scheme: 'HTTP', httpHeaders }, target, limits);
      return joinHostPort(get.host ? get.host : target.podIP, port);
    } catch {
      // The first answer says what is wrong.
      throw error;
    }
  }
}

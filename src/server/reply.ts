import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Request } from 'express';

/** The kubelet's errors are plain text, and nothing is added to the text (reference 11.3). */
export function sendText(response: ServerResponse, code: number, body: string): void {
  response.statusCode = code;
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.end(body);
}

/** Express' own parser makes objects and arrays of repeated names; the kubelet's rules are about plain texts. */
export function queryOf({ url = '' }: IncomingMessage): URLSearchParams {
  const mark = url.indexOf('?');
  return new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
}

/**
 * Whether the request names just a path, as every client of a kubelet does. Of `http://x/logs/`, `//x` and `/metrics#x` access
 * rules and routes might think differently, so nobody is to think about them at all.
 */
export function isPlainTarget({ url = '' }: IncomingMessage): boolean {
  return /^\/(?![/\\])[^#\\]*$/.test(url);
}

/** Decoded: `/%70ods` must not be judged as another path than `/pods`. */
export function pathOf({ url = '' }: IncomingMessage): string {
  const path = url.split('?', 1)[0] ?? '';
  try {
    return decodeURIComponent(path);
  } catch {
    return path; // malformed: no route takes it, Express answers 400
  }
}

/** Go's http.Error: a line of text that no browser may take for something else. */
export function sendLine(response: ServerResponse, code: number, line: string): void {
  response.setHeader('X-Content-Type-Options', 'nosniff');
  sendText(response, code, `${line}\n`);
}

/** In front of the page of a folder (`/logs/`): Go's router sends who leaves out the slash there. */
export function redirectToFolder(folder: `/${string}/`) {
  return (request: Request, response: ServerResponse, next: () => void): void => {
    if (request.path === folder) {
      next();
      return;
    }
    const query = request.url.slice(request.path.length);
    response.setHeader('Location', `${folder}${query}`);
    sendText(response, 307, '');
  };
}

/** In front of a route: other methods, HEAD too, are answered as the kubelet's router does. */
export function only(...methods: readonly ('GET' | 'POST')[]) {
  const allow = methods.join(', ');
  return (request: IncomingMessage, response: ServerResponse, next: () => void): void => {
    if (methods.some((method) => method === request.method)) {
      next();
      return;
    }
    response.setHeader('Allow', allow);
    sendText(response, 405, '405: Method Not Allowed');
  };
}

export const onlyGet = only('GET');

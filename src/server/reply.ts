import type { IncomingMessage, ServerResponse } from 'node:http';

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

/** In front of a route: other methods, HEAD too, are answered as the kubelet's router does. */
export function onlyGet(request: IncomingMessage, response: ServerResponse, next: () => void): void {
  if (request.method === 'GET') next();
  else sendText(response, 405, '405: Method Not Allowed');
}

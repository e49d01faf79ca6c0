import { readdir, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { type Response, Router } from 'express';
import { onlyGet, queryOf, redirectToFolder, sendLine, sendText } from '../reply.ts';

export interface SystemLogsDeps {
  /** The folder that `/logs/` shows; absent: `enableSystemLogHandler` is false. */
  readonly systemLogDir?: string;
}

/** `/logs/`: files of one folder, which nothing leads out of: neither dots nor links (reference 11.5). */
export function systemLogsRoutes({ systemLogDir }: SystemLogsDeps): Router {
  const router = Router({ caseSensitive: true });
  if (systemLogDir === undefined) {
    router.use('/logs', (_request, response) => sendLine(response, 405, 'logs endpoint is disabled.'));
    return router;
  }
  router.all('/logs/', redirectToFolder('/logs/'));
  router.all(['/logs/', '/logs/*path'], onlyGet, async (request, response) => {
    if (queryOf(request).has('query')) {
      sendLine(response, 404, 'this node has no journal to query');
      return;
    }
    await serve(systemLogDir, request.path, response);
  });
  return router;
}

/** `path` begins with /logs and is not decoded yet. */
async function serve(folder: string, path: string, response: Response): Promise<void> {
  const found = await find(folder, decodeURIComponent(path).slice('/logs'.length));
  if (found.type === 'file') {
    // A log is no page, whatever it is called.
    const headers = { 'Content-Type': 'text/plain; charset=utf-8', 'X-Content-Type-Options': 'nosniff' };
    response.sendFile(found.path, { dotfiles: 'allow', etag: false, cacheControl: false, headers });
    return;
  }
  if (found.type === 'refused') {
    sendLine(response, found.code, found.body);
    return;
  }
  if (!path.endsWith('/')) {
    response.setHeader('Location', `${path.slice(path.lastIndexOf('/') + 1)}/`);
    sendText(response, 301, '');
    return;
  }
  response.setHeader('Content-Type', 'text/html; charset=utf-8');
  response.end(listing(found.entries));
}

interface Entry {
  readonly name: string;
  readonly isFolder: boolean;
}

type Found =
  | { readonly type: 'file'; readonly path: string }
  | { readonly type: 'folder'; readonly entries: readonly Entry[] }
  | { readonly type: 'refused'; readonly code: number; readonly body: string };

const NOT_FOUND: Found = { type: 'refused', code: 404, body: '404 page not found' };

async function find(folder: string, path: string): Promise<Found> {
  if (path.includes('\0')) return NOT_FOUND;
  try {
    const root = await realpath(folder);
    const target = await realpath(join(root, path));
    if (target !== root && !target.startsWith(root.endsWith(sep) ? root : `${root}${sep}`)) return NOT_FOUND;
    const kind = await stat(target);
    if (kind.isFile()) return path.endsWith('/') ? NOT_FOUND : { type: 'file', path: target };
    // A pipe or a device would never end.
    if (!kind.isDirectory()) return NOT_FOUND;
    const entries = await readdir(target, { withFileTypes: true });
    return { type: 'folder', entries: entries.map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() })) };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP' || code === 'ENAMETOOLONG') return NOT_FOUND;
    if (code === 'EACCES' || code === 'EPERM') return { type: 'refused', code: 403, body: '403 Forbidden' };
    throw error;
  }
}

/** The page that Go's file server makes, byte for byte. */
function listing(entries: readonly Entry[]): string {
  const lines = entries
    .toSorted((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)))
    .map(({ name, isFolder }) => {
      const shown = isFolder ? `${name}/` : name;
      return `<a href="${href(shown)}">${escapeHtml(shown)}</a>\n`;
    });
  const head = '<!doctype html>\n<meta name="viewport" content="width=device-width">\n<pre>\n';
  return `${head}${lines.join('')}</pre>\n`;
}

/** Relative, so a colon must not make the first part look like a scheme. */
function href(name: string): string {
  const path = encodeURI(name).replaceAll('?', '%3F').replaceAll('#', '%23').replaceAll("'", '%27');
  return path.includes(':') ? `./${path}` : path;
}

function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&#34;')
    .replaceAll("'", '&#39;');
}

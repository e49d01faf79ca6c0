import { createHash } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { writeTar } from '../../shared/tar.ts';

/**
 * A registry (distribution API v2) that holds one image, `app:1`, on a loopback port: engines take those without TLS. With
 * credentials it lets nobody else in.
 */
export class TinyRegistry {
  readonly #server: Server;
  readonly #content = new Map<string, { readonly type: string; readonly body: Buffer }>();
  /** Digest of the manifest. */
  readonly digest: string;

  constructor(credentials?: string) {
    const layer = writeTar([{ type: 'file', path: 'hello', mode: 0o644, data: Buffer.from(`${Math.random()}`) }], 0);
    const zipped = gzipSync(layer);
    const config = Buffer.from(
      JSON.stringify({
        architecture: process.arch === 'arm64' ? 'arm64' : 'amd64',
        os: 'linux',
        config: { User: '1234:5678', Cmd: ['/hello'] },
        rootfs: { type: 'layers', diff_ids: [sha256(layer)] },
        history: [],
      }),
    );
    const manifestType = 'application/vnd.docker.distribution.manifest.v2+json';
    const manifest = Buffer.from(
      JSON.stringify({
        schemaVersion: 2,
        mediaType: manifestType,
        config: {
          mediaType: 'application/vnd.docker.container.image.v1+json',
          size: config.length,
          digest: sha256(config),
        },
        layers: [
          {
            mediaType: 'application/vnd.docker.image.rootfs.diff.tar.gzip',
            size: zipped.length,
            digest: sha256(zipped),
          },
        ],
      }),
    );
    this.digest = sha256(manifest);
    for (const reference of ['1', this.digest]) {
      this.#content.set(`/v2/app/manifests/${reference}`, { type: manifestType, body: manifest });
    }
    for (const blob of [config, zipped]) {
      this.#content.set(`/v2/app/blobs/${sha256(blob)}`, { type: 'application/octet-stream', body: blob });
    }
    const wanted = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
    this.#server = createServer((request, response) => {
      response.setHeader('Docker-Distribution-API-Version', 'registry/2.0');
      if (wanted !== undefined && request.headers.authorization !== wanted) {
        response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="tiny"' });
        response.end(problem('UNAUTHORIZED', 'authentication required'));
        return;
      }
      const found = this.#content.get(request.url ?? '');
      if (found !== undefined) {
        const { type, body } = found;
        response.writeHead(200, {
          'Content-Type': type,
          'Content-Length': body.length,
          'Docker-Content-Digest': sha256(body),
        });
        response.end(request.method === 'HEAD' ? undefined : body);
      } else if (request.url === '/v2/') response.end('{}');
      else {
        response.writeHead(404, { 'Content-Type': 'application/json' });
        response.end(problem('MANIFEST_UNKNOWN', 'manifest unknown'));
      }
    });
  }

  /** "127.0.0.1:PORT". */
  async open(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    // It listens on TCP, so the address is an object.
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function sha256(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

function problem(code: string, message: string): string {
  return JSON.stringify({ errors: [{ code, message }] });
}

import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import type { FileEntry } from '../../providers/contract/index.ts';

export type PayloadFile = Omit<FileEntry, 'path'>;

/** Content of a volume while its sources are merged: path → file; a later source wins on the same path (reference 9.5). */
export type Payload = ReadonlyMap<string, PayloadFile>;

/** Files of a payload in a fixed order, so that equal content gives an equal revision. Throws when a path leaves the volume. */
export function toFiles(payload: Payload): readonly FileEntry[] {
  const byPath = new Map([...payload].map(([path, file]) => [normalise(path), file]));
  return [...byPath.keys()].sort().flatMap((path) => {
    const file = byPath.get(path);
    return file === undefined ? [] : [{ path, ...file }];
  });
}

/** Changes with any path, mode, owner or byte, and with nothing else. */
export function revisionOf(files: readonly FileEntry[]): string {
  const hash = createHash('sha256');
  for (const { path, mode, uid, data } of files) {
    hash.update(JSON.stringify([path, mode, uid ?? null, data.byteLength]));
    hash.update(data);
  }
  return hash.digest('hex');
}

/** The API server checks paths already; this is the last fence before bytes are written somewhere. */
function normalise(path: string): string {
  const normal = posix.normalize(path).replace(/\/$/, '');
  if (posix.isAbsolute(path) || normal === '.' || normal === '' || normal.split('/').includes('..')) {
    throw new Error(`invalid path in volume: ${JSON.stringify(path)}`);
  }
  return normal;
}

/** Just enough of tar (POSIX ustar with pax path records) to hand a small tree of files to an engine and to read one back. */

const BLOCK = 512;

export type TarEntry =
  | (TarCommon & { readonly type: 'file'; readonly data: Uint8Array })
  | (TarCommon & { readonly type: 'directory' })
  | (TarCommon & { readonly type: 'symlink'; readonly target: string });

interface TarCommon {
  /** Relative, without a trailing slash. */
  readonly path: string;
  readonly mode: number;
  readonly uid?: number;
  readonly gid?: number;
}

/** `mtime`, in seconds since the epoch, is that of every entry. */
export function writeTar(entries: readonly TarEntry[], mtime: number): Buffer {
  const blocks: Buffer[] = [];
  for (const entry of entries) {
    const path = entry.type === 'directory' ? `${entry.path}/` : entry.path;
    const target = entry.type === 'symlink' ? entry.target : '';
    const records: [string, string][] = [];
    if (Buffer.byteLength(path) > 100) records.push(['path', path]);
    if (Buffer.byteLength(target) > 100) records.push(['linkpath', target]);
    if (records.length > 0) {
      const body = Buffer.concat(records.map(paxRecord));
      blocks.push(
        header({ path: 'pax', type: 'x', mode: 0o644, size: body.length, entry, target: '', mtime }),
        padded(body),
      );
    }
    const data = entry.type === 'file' ? Buffer.from(entry.data) : Buffer.alloc(0);
    const type = { file: '0', directory: '5', symlink: '2' }[entry.type];
    blocks.push(header({ path, type, mode: entry.mode, size: data.length, entry, target, mtime }), padded(data));
  }
  blocks.push(Buffer.alloc(2 * BLOCK));
  return Buffer.concat(blocks);
}

interface HeaderFields {
  readonly path: string;
  readonly type: string;
  readonly mode: number;
  readonly size: number;
  readonly entry: TarCommon;
  readonly target: string;
  readonly mtime: number;
}

function header(fields: HeaderFields): Buffer {
  const block = Buffer.alloc(BLOCK);
  // A name that does not fit is cut here and given whole by the pax record before it.
  Buffer.from(fields.path).copy(block, 0, 0, 100);
  octal(block, 100, 8, fields.mode & 0o7777);
  octal(block, 108, 8, fields.entry.uid ?? 0);
  octal(block, 116, 8, fields.entry.gid ?? 0);
  octal(block, 124, 12, fields.size);
  octal(block, 136, 12, Math.floor(fields.mtime));
  block.write(fields.type, 156, 'latin1');
  Buffer.from(fields.target).copy(block, 157, 0, 100);
  block.write('ustar\u000000', 257, 'latin1');
  block.fill(' ', 148, 156);
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(`${sum.toString(8).padStart(6, '0')}\u0000 `, 148, 'latin1');
  return block;
}

/** GNU base-256 where the number does not fit: a uid may be as large as 2^31. */
function octal(block: Buffer, offset: number, length: number, value: number): void {
  const digits = Math.trunc(value).toString(8);
  if (digits.length < length) {
    block.write(`${digits.padStart(length - 1, '0')}\u0000`, offset, 'latin1');
    return;
  }
  block.writeUIntBE(Math.trunc(value), offset + length - 6, 6);
  block.writeUInt8(0x80, offset);
}

function paxRecord([key, value]: readonly [string, string]): Buffer {
  const rest = ` ${key}=${value}\n`;
  let length = Buffer.byteLength(rest);
  // The record's length counts its own digits.
  while (String(length).length + Buffer.byteLength(rest) !== length) {
    length = String(length).length + Buffer.byteLength(rest);
  }
  return Buffer.from(`${length}${rest}`);
}

function padded(data: Buffer): Buffer {
  const remainder = data.length % BLOCK;
  return remainder === 0 ? data : Buffer.concat([data, Buffer.alloc(BLOCK - remainder)]);
}

/** Reads what Go's archive/tar writes: ustar with prefix, pax paths, GNU long names. Other kinds of entries are left out. */
export function readTar(archive: Buffer): readonly TarEntry[] {
  const entries: TarEntry[] = [];
  let long: { path?: string; target?: string } = {};
  let offset = 0;
  while (offset + BLOCK <= archive.length) {
    const block = archive.subarray(offset, offset + BLOCK);
    if (block[0] === 0) break;
    const size = number(block, 124, 12);
    const data = archive.subarray(offset + BLOCK, offset + BLOCK + size);
    offset += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
    const type = String.fromCharCode(block[156] ?? 0);
    if (type === 'x') {
      long = { ...long, ...paxPaths(data) };
      continue;
    }
    if (type === 'L' || type === 'K') {
      long = { ...long, [type === 'L' ? 'path' : 'target']: text(data, 0, data.length) };
      continue;
    }
    const entry = toEntry(block, type, data, long);
    long = {};
    if (entry !== undefined) entries.push(entry);
  }
  return entries;
}

function toEntry(
  block: Buffer,
  type: string,
  data: Buffer,
  long: { readonly path?: string; readonly target?: string },
): TarEntry | undefined {
  const prefix = text(block, 345, 155);
  const name = text(block, 0, 100);
  const path = (long.path ?? (prefix === '' ? name : `${prefix}/${name}`)).replace(/\/$/, '');
  const common = {
    path,
    mode: number(block, 100, 8),
    uid: number(block, 108, 8),
    gid: number(block, 116, 8),
  };
  switch (type) {
    case '0':
    case '\u0000':
      return { ...common, type: 'file', data };
    case '5':
      return { ...common, type: 'directory' };
    case '2':
      return { ...common, type: 'symlink', target: long.target ?? text(block, 157, 100) };
    default:
      return undefined;
  }
}

function paxPaths(data: Buffer): { path?: string; target?: string } {
  const found: { path?: string; target?: string } = {};
  let offset = 0;
  while (offset < data.length) {
    const space = data.indexOf(0x20, offset);
    const length = Number(data.toString('latin1', offset, space));
    if (space < 0 || !Number.isInteger(length) || length <= 0) break;
    const [key, ...value] = data.toString('utf8', space + 1, offset + length - 1).split('=');
    if (key === 'path') found.path = value.join('=');
    if (key === 'linkpath') found.target = value.join('=');
    offset += length;
  }
  return found;
}

function text(block: Buffer, offset: number, length: number): string {
  const end = block.indexOf(0, offset);
  return block.toString('utf8', offset, end < 0 || end > offset + length ? offset + length : end);
}

function number(block: Buffer, offset: number, length: number): number {
  if (((block[offset] ?? 0) & 0x80) !== 0) return block.readUIntBE(offset + length - 6, 6);
  const digits = block.toString('latin1', offset, offset + length).replace(/[^0-7]/g, '');
  return digits === '' ? 0 : Number.parseInt(digits, 8);
}

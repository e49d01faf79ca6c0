import { lstat, mkdir, open, readFile, readlink, rename, rm, symlink } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { errorMessage, UsageError } from '../util/errors.ts';
import { type KeyPair, parsePair } from './pair.ts';

export interface StoreOptions {
  readonly dir: string;
  readonly prefix: 'kubelet-client' | 'kubelet-server';
  /** Taken while there is no current pair in the folder. */
  readonly initial?: { readonly certFile: string; readonly keyFile: string };
}

/**
 * `<prefix>-<time>.pem` with certificate and key, and a link `<prefix>-current.pem` to the one in use: the kubelet's layout
 * (reference 13.1, 13.3), so that either program finds what the other left. Readable by the owner only.
 */
export class CertificateStore {
  readonly #options: StoreOptions;

  constructor(options: StoreOptions) {
    this.#options = options;
  }

  get currentPath(): string {
    return join(this.#options.dir, `${this.#options.prefix}-current.pem`);
  }

  /** Undefined when there is none. Throws UsageError for files that are there and cannot be used. */
  async current(): Promise<KeyPair | undefined> {
    const { dir, prefix, initial } = this.#options;
    await this.#recover();
    const own = await readPair(this.currentPath, this.currentPath);
    if (own !== undefined) return own;
    const given = initial === undefined ? undefined : await readPair(initial.certFile, initial.keyFile);
    return given ?? (await readPair(join(dir, `${prefix}.crt`), join(dir, `${prefix}.key`)));
  }

  /** Throws when they do not fit together, or cannot be written; the current pair then stays. */
  async update(cert: string, key: string, nowMs: number): Promise<KeyPair> {
    const { dir, prefix } = this.#options;
    const pair = parsePair(cert, key);
    const time = new Date(nowMs).toISOString().slice(0, 19).replaceAll(/[T:]/g, '-');
    const file = join(dir, `${prefix}-${time}.pem`);
    await mkdir(dir, { recursive: true, mode: 0o755 });
    await writePrivate(file, pair.cert + pair.key);
    await this.#pointTo(file);
    return pair;
  }

  /** The link is replaced in one step, so that a reader never finds none. */
  async #pointTo(file: string): Promise<void> {
    const stat = await unlessMissing(lstat(this.currentPath));
    if (stat?.isSymbolicLink() === false) throw new Error(`${this.currentPath} is a file, not a link`);
    const before = stat === undefined ? undefined : await readlink(this.currentPath);
    await rm(this.#updatedPath, { force: true });
    await symlink(resolve(file), this.#updatedPath);
    await rename(this.#updatedPath, this.currentPath);
    // The kubelet keeps them all; a key that nobody uses any more is only a thing to steal.
    if (before !== undefined && resolve(this.#options.dir, before) !== resolve(file) && this.#isOurs(before))
      await rm(resolve(this.#options.dir, before), { force: true });
  }

  /** A kubelet that ended between its two steps left only the new link. */
  async #recover(): Promise<void> {
    if ((await unlessMissing(lstat(this.currentPath))) !== undefined) return;
    const updated = await unlessMissing(lstat(this.#updatedPath));
    if (updated?.isSymbolicLink() === true) await rename(this.#updatedPath, this.currentPath);
  }

  #isOurs(target: string): boolean {
    const { dir, prefix } = this.#options;
    return resolve(dir, target).startsWith(resolve(dir, `${prefix}-`)) && target.endsWith('.pem');
  }

  get #updatedPath(): string {
    return join(this.#options.dir, `${this.#options.prefix}-updated.pem`);
  }
}

/** The whole text or nothing of it, also after a loss of power. */
export async function writePrivate(file: string, text: string): Promise<void> {
  const half = `${file}.tmp`;
  await rm(half, { force: true }); // the mode counts at creation only
  const handle = await open(half, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(half, file);
}

/** Undefined when one of the files is missing. */
export async function readPair(certFile: string, keyFile: string): Promise<KeyPair | undefined> {
  try {
    const cert = await unlessMissing(readFile(certFile, 'utf8'));
    const key = await unlessMissing(readFile(keyFile, 'utf8'));
    return cert === undefined || key === undefined ? undefined : parsePair(cert, key);
  } catch (error) {
    const files = certFile === keyFile ? certFile : `${certFile}, ${keyFile}`;
    throw new UsageError(`certificate files cannot be used (${files}): ${errorMessage(error)}`, { cause: error });
  }
}

export async function unlessMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

import { homedir } from 'node:os';
import { join } from 'node:path';

/** The release of Kubernetes that the pins in controlplane/go.mod stand for. */
export const KUBERNETES_VERSION = 'v1.36.3';

export const REPOSITORY = join(import.meta.dirname, '../..');

/** What may be thrown away and made again: built binaries, toolchains. Outside the checkout, shared by all checkouts. */
export function cacheDir(): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'outrigger');
}

/** What runs now: one folder per run, see runs.ts. */
export function stateDir(): string {
  return join(process.env['XDG_STATE_HOME'] || join(homedir(), '.local/state'), 'outrigger');
}

export function binaryDir(): string {
  return join(cacheDir(), 'controlplane', KUBERNETES_VERSION, 'bin');
}

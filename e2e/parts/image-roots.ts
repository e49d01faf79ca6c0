import { chmodSync, copyFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { aptInstall } from './apt.ts';
import { binaryPath, buildBinaries, goBuild, moduleSources } from './build.ts';
import { findGo } from './go-toolchain.ts';
import { cacheDir } from './paths.ts';
import { isOnPath, run } from './process.ts';
import type { Progress } from './progress.ts';

/** One static program and nothing else. */
export async function goProgramRoot(source: string, name: string, root: string, progress: Progress): Promise<void> {
  const command = ['build', '-trimpath', '-ldflags', '-s -w'];
  await goBuild(await findGo(progress), command, '.', join(root, name), source);
}

/**
 * Debian's dynamic busybox with its libraries (the resolver of the static one crashes), a link for each applet, and the few files
 * that programs expect.
 */
export async function busyboxRoot(root: string, progress: Progress): Promise<void> {
  const busybox = await findBusybox(progress);
  mkdirSync(join(root, 'bin'));
  copyFileSync(busybox, join(root, 'bin/busybox'));
  chmodSync(join(root, 'bin/busybox'), 0o755);
  for (const applet of (await run(busybox, ['--list'])).trim().split('\n')) {
    if (applet !== 'busybox') symlinkSync('busybox', join(root, 'bin', applet));
  }
  await copyLibraries(busybox, root);
  for (const dir of ['usr/bin', 'etc', 'root', 'home', 'var', 'tmp', 'dev', 'proc', 'sys', 'run']) {
    mkdirSync(join(root, dir), { recursive: true });
  }
  symlinkSync('../../bin/env', join(root, 'usr/bin/env'));
  chmodSync(join(root, 'root'), 0o700);
  chmodSync(join(root, 'tmp'), 0o1777);
  writeFileSync(
    join(root, 'etc/passwd'),
    'root:x:0:0:root:/root:/bin/sh\ndaemon:x:1:1:daemon:/usr/sbin:/bin/false\nnobody:x:65534:65534:nobody:/home:/bin/false\n',
  );
  writeFileSync(join(root, 'etc/group'), 'root:x:0:\ndaemon:x:1:\nusers:x:100:\nnogroup:x:65534:\n');
}

/** Taken out of the package without installing it, since busybox-static may be installed in its place. */
async function findBusybox(progress: Progress): Promise<string> {
  const dir = join(cacheDir(), 'debian/busybox');
  const busybox = join(dir, 'bin/busybox');
  const usrmerged = join(dir, 'usr/bin/busybox');
  for (const path of [busybox, usrmerged]) if (existsSync(path)) return path;
  const debs = join(cacheDir(), 'debian/debs');
  mkdirSync(debs, { recursive: true });
  if (!isOnPath('apt-get') || !isOnPath('dpkg-deb')) {
    throw new Error('the test images are made of Debian packages: run this on a Debian-like machine');
  }
  const download = (): Promise<string> => run('apt-get', ['download', '-q', 'busybox'], { cwd: debs });
  await progress.during('downloading the package busybox', async () => {
    await download().catch(async () => {
      await run('apt-get', ['update', '-q']); // no package lists yet; needs root
      await download();
    });
    await run(
      'sh',
      [
        '-c',
        'rm -rf "$1" && dpkg-deb -x busybox_*.deb "$1.partial" && mv "$1.partial" "$1" && rm -f busybox_*.deb',
        'sh',
        dir,
      ],
      {
        cwd: debs,
      },
    );
  });
  const found = [busybox, usrmerged].find(existsSync);
  if (found === undefined) throw new Error('the package busybox holds no bin/busybox');
  return found;
}

/** Copies the shared libraries and the loader that `program` asks for, to the same places. */
async function copyLibraries(program: string, root: string): Promise<void> {
  const lines = (await run('ldd', [program])).split('\n');
  for (const line of lines) {
    const path = /(\/\S+) \(0x/.exec(line)?.[1];
    if (path === undefined) continue;
    mkdirSync(join(root, dirname(path)), { recursive: true });
    copyFileSync(path, join(root, path));
    chmodSync(join(root, path), 0o755);
  }
}

const AGNHOST_TOOLS = 'curl,netcat-openbsd,iproute2,bash,dnsutils,iperf,net-tools';

/** A small Debian with the tools that the suite calls, and the program. Only as root: debootstrap changes its root. */
export async function agnhostRoot(root: string, progress: Progress): Promise<void> {
  await buildBinaries(['agnhost'], progress);
  if (!isOnPath('debootstrap'))
    await aptInstall(['debootstrap'], 'debootstrap is needed for the image agnhost', progress);
  const suite = /^VERSION_CODENAME=(\S+)$/m.exec(await run('cat', ['/etc/os-release']))?.[1] ?? 'stable';
  await progress.during(`debootstrap of ${suite} for the image agnhost`, () =>
    run('debootstrap', ['--variant=minbase', `--include=${AGNHOST_TOOLS}`, suite, root]),
  );
  copyFileSync(binaryPath('agnhost'), join(root, 'agnhost'));
  chmodSync(join(root, 'agnhost'), 0o755);
  symlinkSync('agnhost', join(root, 'agnhost-2'));
  // The certificate of its HTTPS servers.
  const porter = join(await moduleSources('k8s.io/kubernetes', progress), 'test/images/agnhost/porter');
  for (const name of ['localhost.crt', 'localhost.key']) copyFileSync(join(porter, name), join(root, name));
  mkdirSync(join(root, 'uploads'));
  const user = 'user-defined-in-image';
  const group = 'group-defined-in-image';
  await run('chroot', [root, 'useradd', '--uid', '1000', '--create-home', user]);
  await run('chroot', [root, 'groupadd', '--gid', '50000', group]);
  await run('chroot', [root, 'usermod', '--append', '--groups', group, user]);
  await run('sh', ['-c', 'rm -rf "$1"/var/cache/apt/archives/*.deb "$1"/var/lib/apt/lists/*', 'sh', root]);
}

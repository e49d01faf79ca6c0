// Runs a TypeScript file of this repository on the Node that package.json brings, whatever Node this one is (20 or later): installs
// the dependencies first if they are missing or not those of package-lock.json. Uses nothing but Node itself.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const [script, ...args] = process.argv.slice(2);

function readLock(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')).packages : undefined;
}

/** npm keeps beside the packages what it installed; optional ones may be for another machine. */
function isInstalled() {
  const wanted = readLock(join(root, 'package-lock.json'));
  const found = readLock(join(root, 'node_modules/.package-lock.json'));
  if (found === undefined) return false;
  return Object.entries(wanted).every(
    ([path, { version, optional, devOptional, peer, link }]) =>
      path === '' || optional || devOptional || peer || link || found[path]?.version === version,
  );
}

if (!isInstalled()) {
  process.stderr.write('installing the dependencies (npm ci) …\n');
  // npm runs this script in most cases and says where it is itself.
  const npm = process.env.npm_execpath;
  const [command, before] = npm?.endsWith('.js') ? [process.execPath, [npm]] : ['npm', []];
  const { status, error } = spawnSync(command, [...before, 'ci', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) {
    process.stderr.write(`npm ci failed${error ? `: ${error.message}` : ''}\n`);
    process.exit(1);
  }
}

const own = join(root, 'node_modules/.bin/node');
const [major, minor] = process.versions.node.split('.').map(Number);
const enough = major > 22 || (major === 22 && minor >= 19);
if (!existsSync(own) && !enough) {
  process.stderr.write(`Node ${process.versions.node} is too old: install Node 24\n`);
  process.exit(1);
}
const child = spawn(existsSync(own) ? own : process.execPath, [join(root, script), ...args], { stdio: 'inherit' });
// The terminal sends Ctrl-C to both; only the child decides when it is done. Other signals are passed on.
process.on('SIGINT', () => undefined);
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => process.exit(code ?? (signal === 'SIGINT' ? 130 : 1)));
child.on('error', (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});

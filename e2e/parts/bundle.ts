import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { REPOSITORY } from './paths.ts';

/** Builds what `npm run outrigger` runs and answers the arguments of Node for it, the same as in that script of package.json. */
export function buildBundle(): readonly string[] {
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: REPOSITORY, stdio: 'inherit' });
  return ['--max-semi-space-size=2', join(REPOSITORY, 'dist/main.js')];
}

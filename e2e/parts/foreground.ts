import { spawn } from 'node:child_process';

export interface ForegroundOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

/** Runs a command whose output people watch. Returns its exit code; 1 when it was interrupted. */
export function runForeground(command: string, args: readonly string[], options: ForegroundOptions): Promise<number> {
  const { cwd, env, signal } = options;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'inherit', 'inherit'] });
    const onAbort = (): void => void child.kill('SIGTERM');
    signal.addEventListener('abort', onAbort, { once: true });
    child.once('error', reject);
    child.once('exit', (code) => {
      signal.removeEventListener('abort', onAbort);
      resolve(code ?? 1);
    });
  });
}

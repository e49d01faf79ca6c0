import { spawn } from 'node:child_process';
import { closeSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { sleep } from '../parts/wait.ts';
import { logFile, readyReport } from './state.ts';

/** Runs the same command in the background and shows what it prints until it is ready. Returns the exit code. */
export async function startDetached(args: readonly string[]): Promise<number> {
  const log = openSync(logFile(), 'w+', 0o600);
  const child = spawn(process.execPath, [join(import.meta.dirname, 'start.ts'), ...args], {
    detached: true,
    stdio: ['ignore', log, log],
  });
  let ended: number | undefined;
  child.once('exit', (code) => {
    ended = code ?? 1;
  });
  // Interrupted while waiting: the one in the background cleans up.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill('SIGTERM'));
  let shown = 0;
  const show = (): void => {
    const buffer = Buffer.alloc(65_536);
    for (let read = readSync(log, buffer, 0, buffer.length, shown); read > 0; ) {
      process.stdout.write(buffer.subarray(0, read));
      shown += read;
      read = readSync(log, buffer, 0, buffer.length, shown);
    }
  };
  while (ended === undefined && readyReport() === undefined) {
    await sleep(200);
    show();
  }
  show();
  closeSync(log);
  child.unref();
  if (ended === undefined) process.stdout.write('\nIt runs in the background; npm stop ends it.\n');
  return ended ?? 0;
}

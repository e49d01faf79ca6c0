import { randomUUID } from 'node:crypto';
import { linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { isAlive, readProcessId, thisProcess } from './process.ts';
import { sleep } from './wait.ts';

/** Runs `work` while nobody else holds the same lock file. A lock whose holder died is taken over. */
export async function withLock<T>(file: string, onWait: (pid: number) => void, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(file), { recursive: true });
  const mine = `${file}.${randomUUID()}`;
  writeFileSync(mine, JSON.stringify(thisProcess()));
  try {
    for (let told = false; !tryLink(mine, file); await sleep(200)) {
      const holder = readProcessId(file);
      // Unreadable means that it was given back a moment ago: only a known dead holder may be pushed aside.
      if (holder === undefined) continue;
      if (!isAlive(holder)) rmSync(file, { force: true });
      else if (!told) {
        onWait(holder.pid);
        told = true;
      }
    }
    try {
      return await work();
    } finally {
      rmSync(file, { force: true });
    }
  } finally {
    rmSync(mine, { force: true });
  }
}

/** A hard link appears at once and with its content, so that nobody ever reads a half-written lock. */
function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw error;
  }
}

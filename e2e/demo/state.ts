import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stateDir } from '../parts/paths.ts';
import { isAlive, type ProcessId, readProcessId, thisProcess } from '../parts/process.ts';

/** Where `npm start` and `npm stop` meet: who runs the demo and what it printed. */
export function demoDir(): string {
  const dir = join(stateDir(), 'demo');
  mkdirSync(dir, { recursive: true, mode: 0o700 });
  return dir;
}

const ownerFile = (): string => join(demoDir(), 'owner.json');
const readyFile = (): string => join(demoDir(), 'ready.txt');

export function logFile(): string {
  return join(demoDir(), 'start.log');
}

/** The process that runs the demo now, if any. */
export function demoOwner(): ProcessId | undefined {
  const owner = readProcessId(ownerFile());
  return owner !== undefined && isAlive(owner) ? owner : undefined;
}

export function claimDemo(): void {
  rmSync(readyFile(), { force: true });
  writeFileSync(ownerFile(), JSON.stringify(thisProcess()));
}

export function announceReady(report: string): void {
  writeFileSync(readyFile(), report);
}

export function readyReport(): string | undefined {
  return existsSync(readyFile()) ? readFileSync(readyFile(), 'utf8') : undefined;
}

export function giveUpDemo(): void {
  rmSync(readyFile(), { force: true });
  rmSync(ownerFile(), { force: true });
}

import type Docker from 'dockerode';
import type { ProviderContext } from '../contract/index.ts';
import type { EngineCalls } from './calls.ts';

/** What every part of the engine logic is given. */
export interface Engine {
  readonly docker: Docker;
  readonly calls: EngineCalls;
  readonly context: ProviderContext;
}

/** Longer than a quick question: the engine waits for a process to start, for an archive, for a removal. */
export const SLOW_CALL_MS = 120_000;

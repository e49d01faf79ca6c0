import { pino } from 'pino';
import type { Logger } from '../telemetry/logger.ts';

/** For tests that provoke failures on purpose. */
export function silentLog(): Logger {
  return pino({ level: 'silent' });
}

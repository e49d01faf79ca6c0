import { pino } from 'pino';
import type { Logger } from '../telemetry/logger.ts';

/** A logger that writes `level message` of every line into `lines`, for tests about what is said and how often. */
export function recordedLog(lines: string[]): Logger {
  return pino(
    { level: 'debug' },
    {
      write(line) {
        // The logger's own format: the number of a level, and the message.
        const { level, msg } = JSON.parse(line) as { readonly level: number; readonly msg: string };
        lines.push(`${pino.levels.labels[level]} ${msg}`);
      },
    },
  );
}

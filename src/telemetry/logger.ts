import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

export type { Logger };

export interface LogOptions {
  readonly format: 'json' | 'text';
  /** klog verbosity: 0–3 info, 4 and above debug. */
  readonly verbosity: number;
}

/** Fields that may hold a secret wherever a whole spec or a request is logged. */
const REDACTED = [
  '*.data',
  '*.env',
  '*.password',
  '*.identityToken',
  '*.token',
  'headers.authorization',
  '*.headers.authorization',
];

export function createLogger({ format, verbosity }: LogOptions): Logger {
  const options = { level: verbosity >= 4 ? 'debug' : 'info', redact: REDACTED, base: null };
  return format === 'text'
    ? pino(options, pretty({ destination: 2, sync: true, colorize: false }))
    : pino(options, pino.destination({ dest: 2, sync: true }));
}

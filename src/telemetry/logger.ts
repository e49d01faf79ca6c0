import { type Logger, type LoggerOptions, pino } from 'pino';
import pretty from 'pino-pretty';

export type { Logger };

export interface LogOptions {
  readonly format: 'json' | 'text';
  /** klog verbosity: 0–3 info, 4 and above debug. */
  readonly verbosity: number;
}

/** Fields that may hold a secret wherever a whole spec or a request is logged: of a container, a sandbox, a plan of a pod. */
export const REDACTED: string[] = [
  '*.data',
  'env',
  '*.env',
  '*.*.env',
  '*.*.*.env',
  'volumes',
  '*.volumes',
  '*.*.volumes',
  '*.password',
  '*.identityToken',
  '*.token',
  'headers.authorization',
  '*.headers.authorization',
];

export interface Logging {
  readonly log: Logger;
  /** Changes what is logged from now on, by all loggers that come from this one. */
  setVerbosity(verbosity: number): void;
}

export function createLogging({ format, verbosity }: LogOptions): Logging {
  // A child keeps the level that it was made with, so each is remembered; weakly, since nobody says when it is done with.
  const children = new Set<WeakRef<Logger>>();
  const options: LoggerOptions = {
    level: level(verbosity),
    redact: REDACTED,
    base: null,
    onChild: (child) => children.add(new WeakRef(child)),
  };
  const log =
    format === 'text'
      ? pino(options, pretty({ destination: 2, sync: true, colorize: false }))
      : pino(options, pino.destination({ dest: 2, sync: true }));
  return {
    log,
    setVerbosity: (changed) => {
      log.level = level(changed);
      for (const reference of children) {
        const child = reference.deref();
        if (child === undefined) children.delete(reference);
        else child.level = log.level;
      }
    },
  };
}

function level(verbosity: number): 'debug' | 'info' {
  return verbosity >= 4 ? 'debug' : 'info';
}

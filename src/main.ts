import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import packageJson from '../package.json' with { type: 'json' };
import { fatalLine, runCli } from './cli.ts';
import type { Config } from './config/config.ts';
import { loadConfig } from './config/load.ts';
import { createLogging } from './telemetry/logger.ts';
import { UsageError } from './util/errors.ts';

/** 0: asked to stop, 1: a bug or a broken environment, 2: a mistake in flags or files. */
const exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`${fatalLine(error)}\n`);
  return 1;
});
// Not left to the event loop: an idle connection of some library must not hold a process that has ended.
process.exit(exitCode);

function main(): Promise<number> {
  return runCli(process.argv.slice(2), {
    version: packageJson.version,
    load: (flags) =>
      loadConfig(flags, {
        readFile: (path) => readFile(path, 'utf8'),
        hostname: hostname(),
        cwd: process.cwd(),
      }),
    // The rest of the program is loaded only once the flags are known to be good.
    checkProviders: async (config) => (await import('./app.ts')).checkProviders(config),
    run,
    out: (text) => process.stdout.write(`${text}\n`),
    err: (text) => process.stderr.write(`${text}\n`),
  });
}

async function run(config: Config): Promise<void> {
  const { runApp } = await import('./app.ts');
  const { log, setVerbosity } = createLogging(config.log);
  const stop = new AbortController();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.on(signal, () => {
      // Whoever asks twice does not want to wait for the orderly end. Pods go on in either case.
      if (stop.signal.aborted) process.exit(1);
      log.info({ signal }, 'stopping, pods stay');
      stop.abort(new Error(`stopped by ${signal}`));
    });
  }
  process.on('unhandledRejection', (error) => {
    log.fatal({ err: error }, 'unhandled rejection');
    process.exit(1);
  });
  try {
    await runApp(config, { log, setVerbosity, signal: stop.signal, productVersion: packageJson.version });
  } catch (error) {
    if (stop.signal.aborted) {
      log.debug({ err: error }, 'ended while stopping');
      return;
    }
    if (error instanceof UsageError) throw error;
    // With its stack, and in the form of all other lines: it is the only trace of a fault of our own (ADR 0013).
    log.fatal({ err: error }, 'a fault ends the process');
    process.exit(1);
  }
}

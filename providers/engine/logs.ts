import type { Readable } from 'node:stream';
import type { CallOptions, ContainerRef, LogRecord, LogRequest } from '../contract/index.ts';
import { asReadable, streamFailure } from './calls.ts';
import type { Engine } from './engine.ts';
import { FramedLogParser, type LogParser, TerminalLogParser } from './log-records.ts';
import { findContainer, inspectContainer, noSuchContainer } from './units.ts';

export async function* readLogs(
  engine: Engine,
  ref: ContainerRef,
  request: LogRequest,
  options: CallOptions,
): AsyncGenerator<LogRecord, void, undefined> {
  const found = await findContainer(engine, ref, options);
  const details = found && (await inspectContainer(engine, found.Id, options));
  if (details === undefined) {
    throw noSuchContainer(ref);
  }
  const stream = await engine.calls.open('send logs', options, (abortSignal) =>
    openLogs(engine, details.Id, request, abortSignal),
  );
  const parser: LogParser = details.Config.Tty ? new TerminalLogParser() : new FramedLogParser();
  try {
    // Reading chunk by chunk holds the engine back while the consumer is slow.
    for await (const chunk of stream) yield* parser.push(chunk);
    yield* parser.end();
  } catch (error) {
    throw streamFailure(error, options.signal);
  } finally {
    stream.destroy();
  }
}

/** Past dockerode, whose `logs` collects everything in memory unless it follows. */
function openLogs(engine: Engine, id: string, request: LogRequest, abortSignal: AbortSignal): Promise<Readable> {
  const query = {
    follow: request.follow,
    stdout: true,
    stderr: true,
    timestamps: true,
    tail: request.tailLines ?? 'all',
    ...(request.since === undefined ? {} : { since: (request.since.getTime() / 1000).toFixed(3) }),
  };
  return new Promise((resolve, reject) => {
    engine.docker.modem.dial(
      {
        path: `/containers/${id}/logs?`,
        method: 'GET',
        isStream: true,
        options: query,
        abortSignal,
        statusCodes: { 200: true, 404: 'no such container', 500: 'server error' },
      },
      (error: unknown, answer: unknown) => {
        if (error) reject(error);
        else resolve(asReadable(answer));
      },
    );
  });
}

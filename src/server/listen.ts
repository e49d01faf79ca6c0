import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Server as SecureServer } from 'node:https';
import type { Logger } from '../telemetry/logger.ts';
import { errorMessage, UsageError } from '../util/errors.ts';

export interface ListenOptions {
  readonly address: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Flags to name when the address cannot be had. */
  readonly flags: string;
  readonly log: Pick<Logger, 'warn'>;
}

/** What one client may take (reference 11.1): headers that come slowly, or never, end the connection. */
export const HTTP_LIMITS = {
  keepAliveTimeout: 90_000,
  headersTimeout: 60_000,
  maxHeaderSize: 1 << 20,
} as const;

/** Resolves with the port when connections are taken. */
export async function listen(server: Server | SecureServer, options: ListenOptions): Promise<number> {
  const { address, port, flags, log } = options;
  try {
    server.listen({ host: address, port });
    await once(server, 'listening');
  } catch (error) {
    throw new UsageError(`${flags} ${address}:${port}: ${errorMessage(error)}`, { cause: error });
  }
  // Later errors are about one connection (no file descriptor left to accept it), and must not end the process.
  server.on('error', (error) => log.warn({ err: error }, 'server could not take a connection'));
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('the server does not listen on a port');
  return bound.port;
}

/** Stops listening and ends every connection, after what is written has had a chance to go out. */
export async function closeServer(server: Server | SecureServer | undefined): Promise<void> {
  if (server?.listening !== true) return;
  const closed = once(server, 'close');
  server.close();
  await new Promise((resolve) => setImmediate(resolve));
  server.closeAllConnections();
  await closed;
}

import { Duplex } from 'node:stream';
import { type CallOptions, ProviderError } from '../contract/index.ts';
import { type Engine, SLOW_CALL_MS } from './engine.ts';

export interface HijackRequest {
  /** Completes "the engine did not answer within 30 s when asked to …". */
  readonly what: string;
  readonly path: string;
  /** Query string and body alike: the engine reads the one it needs. */
  readonly body: object;
}

/**
 * Turns a request into a two-way stream. Past dockerode's own calls: those leave a request with standard input open when the engine
 * refuses it, and its connection with it.
 */
export async function hijack(engine: Engine, request: HijackRequest, options: CallOptions): Promise<Duplex> {
  const socket = await engine.calls.call(request.what, { ...options, timeoutMs: SLOW_CALL_MS }, (abortSignal) =>
    dial(engine, request, abortSignal),
  );
  // From here on somebody listens, whatever becomes of the session.
  socket.on('error', () => {});
  return socket;
}

function dial(engine: Engine, { path, body }: HijackRequest, abortSignal: AbortSignal): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    engine.docker.modem.dial(
      {
        path,
        method: 'POST',
        isStream: true,
        hijack: true,
        allowEmpty: true,
        // The library takes the signal out of what it sends.
        options: { ...body, abortSignal },
        abortSignal,
        statusCodes: { 101: true, 200: true },
      },
      (error: unknown, answer: unknown) => {
        if (error) reject(error);
        else if (!(answer instanceof Duplex))
          reject(new ProviderError('Internal', 'the engine gave no two-way stream'));
        else if (abortSignal.aborted) {
          answer.destroy();
          reject(abortSignal.reason);
        } else resolve(answer);
      },
    );
  });
}

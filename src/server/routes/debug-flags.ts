import type { IncomingMessage } from 'node:http';
import { Router } from 'express';
import { parseUint } from '../../util/go-number.ts';
import { sendLine } from '../reply.ts';

export interface DebugFlagsDeps {
  /** Changes what is logged from now on, by klog's numbers. Absent: `enableDebugFlagsHandler` is false. */
  readonly setVerbosity?: (verbosity: number) => void;
}

/** A number; nobody needs more. */
const MAX_BODY_BYTES = 1024;
const MAX_VERBOSITY = 0x7f_ff_ff_ff;

/** `PUT /debug/flags/v` with the verbosity as its body (reference 11.2). */
export function debugFlagsRoutes({ setVerbosity }: DebugFlagsDeps): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.all('/debug/flags/v', async (request, response) => {
    if (setVerbosity === undefined) {
      sendLine(response, 405, 'flags endpoint is disabled.');
      return;
    }
    if (request.method !== 'PUT') {
      sendLine(response, 406, 'unsupported http method');
      return;
    }
    const text = (await readBody(request)) ?? '';
    const verbosity = parseUint(text, MAX_VERBOSITY);
    if (typeof verbosity === 'string') {
      sendLine(response, 400, verbosity);
      return;
    }
    setVerbosity(verbosity);
    sendLine(response, 200, `successfully set klog.logging.verbosity to ${text}`);
  });
  return router;
}

/** Undefined when it is too long. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

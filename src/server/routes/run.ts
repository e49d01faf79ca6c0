import type { Readable } from 'node:stream';
import { type Response, Router } from 'express';
import type { CallOptions, ContainerRef, ExecFacet, ExecSession } from '../../../providers/contract/index.ts';
import { untilAborted } from '../../util/abort.ts';
import { errorMessage } from '../../util/errors.ts';
import { ClientAbort } from '../client-abort.ts';
import { only, queryOf, sendText } from '../reply.ts';
import { findPod, runningContainer, type StreamTargets } from '../streaming/target.ts';

export interface RunDeps extends Pick<StreamTargets, 'findPod' | 'observed' | 'exec'> {
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
}

/** What of each output is kept, as containerd has it. */
const MAX_OUTPUT_BYTES = 16 << 20;

/** `POST /run/...?cmd=`: one command without input, its output as the body (reference 11.2). */
export function runRoutes(deps: RunDeps): Router {
  const router = Router({ caseSensitive: true });
  const path = '/run/:namespace/:pod{/:uid}/:container';
  router.all(path, only('POST'));
  router.post(path, async (request, response) => {
    const found = findPod(deps, request.params);
    if (found.type === 'refused') {
      sendText(response, found.code, found.body);
      return;
    }
    if (deps.exec === undefined) {
      sendText(response, 501, 'the backend of this node runs no commands in containers');
      return;
    }
    const { container } = request.params;
    const ref = runningContainer(found, container);
    // Not for a shell: cut at single blanks, as the kubelet does.
    const command = (queryOf(request).get('cmd') ?? '').split(' ');
    if (ref === undefined) sendText(response, 500, `container not found ("${container}")`);
    else await answerRun(response, { exec: deps.exec, ref, command, signal: deps.signal });
  });
  router.use('/run', (_request, response) => sendText(response, 404, '404: Page Not Found'));
  return router;
}

interface Run {
  readonly exec: ExecFacet;
  readonly ref: ContainerRef;
  readonly command: readonly string[];
  readonly signal: AbortSignal;
}

async function answerRun(response: Response, { exec, ref, command, signal: stop }: Run): Promise<void> {
  using child = new ClientAbort(response, stop);
  try {
    const { signal } = child;
    const session = await untilAborted(exec.exec(ref, { command, tty: false, stdin: false }, { signal }), signal);
    const result = await collect(session, { signal });
    if (result.code === 0) {
      const body = Buffer.concat([result.stdout, result.stderr]);
      if (body.length > 0) response.setHeader('Content-Type', 'application/json');
      response.setHeader('Content-Length', body.length);
      response.end(body);
    } else {
      const text = `command '${command.join(' ')}' exited with ${result.code}: ${result.stderr.toString()}`;
      sendText(response, 500, text);
    }
  } catch (error) {
    if (!child.signal.aborted) sendText(response, 500, errorMessage(error));
    else response.destroy();
  } finally {
    child.abort(new Error('the command is over'));
  }
}

async function collect({ stdin, stdout, stderr, exit }: ExecSession, { signal }: CallOptions) {
  stdin?.on('error', () => {}).end();
  const outputs = { stdout: new Beginning(stdout), stderr: new Beginning(stderr) };
  const end = await untilAborted(exit, signal);
  await untilAborted(Promise.all([outputs.stdout.ended, outputs.stderr.ended]), signal);
  if (end.type === 'failed') throw end.error;
  return { code: end.code, stdout: outputs.stdout.bytes, stderr: outputs.stderr.bytes };
}

/** Reads everything and keeps the beginning of it. */
class Beginning {
  readonly ended: Promise<void>;
  readonly #chunks: Buffer[] = [];
  #length = 0;

  constructor(source: Readable | undefined) {
    this.ended = new Promise((resolve) => {
      if (source === undefined) resolve();
      else source.once('end', resolve).once('close', resolve);
    });
    source?.on('error', () => {}); // told by the session's exit
    source?.on('data', (chunk: Buffer) => {
      const kept = chunk.subarray(0, MAX_OUTPUT_BYTES - this.#length);
      this.#length += kept.length;
      if (kept.length > 0) this.#chunks.push(kept);
    });
  }

  get bytes(): Buffer {
    return Buffer.concat(this.#chunks);
  }
}

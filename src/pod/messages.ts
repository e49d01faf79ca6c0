import {
  type CallOptions,
  type ContainerRef,
  isProviderError,
  type ObservedContainer,
} from '../../providers/contract/index.ts';
import { findContainer } from '../model/containers.ts';
import type { Container } from '../model/pod.ts';
import { isAbortError } from '../util/abort.ts';
import { errorMessage } from '../util/errors.ts';
import type { ExecutorDeps } from './executor-deps.ts';
import { isOutage } from './failure.ts';
import { fallsBackToLogs, hasMessageFile, withMessage } from './plan/messages.ts';
import { incarnations, stopKey } from './plan/snapshot.ts';
import type { Turn } from './turn.ts';

/** As the kubelet (reference 1.7). */
const MAX_BYTES = 4096;
const LOG_LINES = 80;
const LOG_BYTES = 2048;

/** Reads the last words of a container that has ended. */
export class MessageStep {
  readonly #deps: Pick<ExecutorDeps, 'provider' | 'limit'>;

  constructor(deps: Pick<ExecutorDeps, 'provider' | 'limit'>) {
    this.#deps = deps;
  }

  async read(name: string, attempt: number, turn: Turn): Promise<void> {
    const { pod, observed, uid } = turn.snapshot;
    const seen = incarnations(observed, name).find((incarnation) => incarnation.attempt === attempt);
    const container = pod && findContainer(pod, name)?.container;
    if (container === undefined || seen === undefined) return;
    const ref = { podUid: uid, container: name, attempt };
    const message = await this.#deps.limit(() => this.#words(container, seen, ref, { signal: turn.signal }));
    const messages = withMessage(turn.memory.messages, stopKey(name, attempt), message, observed);
    turn.memory = { ...turn.memory, messages };
  }

  async #words(
    container: Container,
    seen: ObservedContainer,
    ref: ContainerRef,
    options: CallOptions,
  ): Promise<string> {
    const file = await this.#file(container, ref, options);
    if (file !== '' || !mayUseLogs(container, seen)) return file;
    return this.#tailOfLog(ref, options);
  }

  async #file(container: Container, ref: ContainerRef, options: CallOptions): Promise<string> {
    const { files } = this.#deps.provider;
    const { terminationMessagePath: path = '' } = container;
    if (files === undefined || !hasMessageFile(container)) return '';
    try {
      return text(lastBytes(await files.readFile(ref, path, { ...options, maxBytes: MAX_BYTES }), MAX_BYTES));
    } catch (error: unknown) {
      if (isProviderError(error, 'NotFound')) return '';
      return unlessOutage(error, options, `Error on reading termination log ${path}`);
    }
  }

  async #tailOfLog(ref: ContainerRef, options: CallOptions): Promise<string> {
    const { logs } = this.#deps.provider;
    if (logs === undefined) return '';
    let tail: Uint8Array = new Uint8Array();
    try {
      for await (const { line, partial } of logs.logs(ref, { follow: false, tailLines: LOG_LINES }, options))
        tail = lastBytes(Buffer.concat([tail, line, Buffer.from(partial ? '' : '\n')]), LOG_BYTES);
    } catch (error: unknown) {
      return unlessOutage(error, options, 'Error on reading termination message from logs');
    }
    return text(tail);
  }
}

/** A container that could not even be started has no log. */
function mayUseLogs(container: Container, { state }: ObservedContainer): boolean {
  if (state.status !== 'exited' || !fallsBackToLogs(container)) return false;
  return state.exitCode !== 0 && state.reason !== 'ContainerCannotRun';
}

/** While nobody can be asked, the turn is repeated; any other failure is the message. */
function unlessOutage(error: unknown, { signal }: CallOptions, what: string): string {
  if (isAbortError(error, signal) || isOutage(error)) throw error;
  return `${what}: ${errorMessage(error)}`;
}

function lastBytes(bytes: Uint8Array, count: number): Uint8Array {
  return bytes.length <= count ? bytes : bytes.subarray(bytes.length - count);
}

function text(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

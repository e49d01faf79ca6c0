import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { type CallOptions, ProviderError } from '../contract/index.ts';
import { abortError } from '../shared/abort-error.ts';
import { dialError } from './dial-errors.ts';
import { adopted } from './dial-tcp.ts';
import { NETNS_SCRIPT } from './netns-script.ts';
import { isStill, type ProvenProcess } from './proc.ts';

/** The namespace cannot be entered from here: no right to, no `nsenter`, or the process has gone. */
export class NetnsEntryError extends Error {
  override readonly name = 'NetnsEntryError';
}

/** One heap for some sockets, one thread less for a collector that has nothing to do. */
const NODE_FLAGS = ['--max-old-space-size=32', '--max-semi-space-size=1', '--v8-pool-size=1'];
/** Not ours to read here, and what a preload or a debugger may have put into the environment is not for the helper. */
const ENVIRONMENT = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };
/** In the helper: after the three standard ones and the channel. */
const NAMESPACE_FD = 4;
const MAX_WORDS = 1_000;

interface Waiting {
  readonly resolve: (socket: Socket) => void;
  readonly reject: (error: Error) => void;
}

/** A process in the network namespace of a pod that connects and hands sockets over. It ends with us, however we end. */
export class NetnsHelper {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, Waiting>();
  readonly #exited: Promise<void>;
  #asked = 0;
  #answered = false;
  #words = '';

  constructor(proven: ProvenProcess, node: string = process.execPath) {
    this.#child = enter(proven, [node, ...NODE_FLAGS, '-e', NETNS_SCRIPT]);
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#words = (this.#words + text).slice(0, MAX_WORDS);
    });
    this.#child.on('message', (message, handle) => this.#onMessage(message, handle));
    this.#exited = new Promise((resolve) => {
      const gone = (why: string): void => {
        resolve();
        this.#fail(why);
      };
      this.#child.once('error', (error) => gone(error.message));
      // 'close', not 'exit': only then its last words have been read.
      this.#child.once('close', (code, signal) => gone(this.#words.trim() || `it ended (${signal ?? code})`));
    });
  }

  get alive(): boolean {
    return this.#child.connected;
  }

  /** Throws NetnsEntryError when the helper never got there, else what `dial` throws. */
  dial(port: number, { signal }: CallOptions): Promise<Socket> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(abortError(signal));
        return;
      }
      const id = ++this.#asked;
      const onAbort = (): void => {
        this.#waiting.delete(id);
        reject(abortError(signal));
      };
      signal.addEventListener('abort', onAbort, { once: true });
      const settle = (): void => {
        this.#waiting.delete(id);
        signal.removeEventListener('abort', onAbort);
      };
      this.#waiting.set(id, {
        resolve: (socket) => {
          settle();
          resolve(adopted(socket, signal));
        },
        reject: (error) => {
          settle();
          reject(error);
        },
      });
      if (this.#child.connected) this.#child.send({ id, port }, () => {});
      else void this.#exited.then(() => this.#fail('it has ended'));
    });
  }

  async end(): Promise<void> {
    // Our own child that has not been waited for: its number cannot be another's.
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  #onMessage(message: unknown, handle: unknown): void {
    this.#answered = true;
    // What our own script sends; a helper that was tampered with gets no further than a port of its pod.
    const answer = message as { id?: number; code?: string; message?: string };
    const waiting = this.#waiting.get(answer.id ?? 0);
    if (handle instanceof Socket) {
      // Nobody waits any more: the caller has aborted.
      if (waiting === undefined) handle.destroy();
      else waiting.resolve(prepared(handle));
    } else if (answer.code === undefined) {
      // The peer closed it before it could be handed over.
      waiting?.reject(new ProviderError('ConnectionRefused', 'read: connection reset by peer'));
    } else {
      const cause = Object.assign(new Error(answer.message), { code: answer.code });
      waiting?.reject(dialError(cause, 'localhost'));
    }
  }

  #fail(why: string): void {
    const message = `the network namespace of the pod could not be entered: ${why}`;
    for (const { reject } of [...this.#waiting.values()])
      reject(this.#answered ? new ProviderError('Internal', message) : new NetnsEntryError(message));
  }
}

function prepared(socket: Socket): Socket {
  socket.allowHalfOpen = true;
  socket.setNoDelay(true);
  return socket;
}

/** The namespace is opened between two proofs of one process, so it is that process's even if the number is used again later. */
function enter(proven: ProvenProcess, command: readonly string[]): ChildProcess {
  const namespace = openNamespace(proven);
  try {
    return spawn('nsenter', [`--net=/proc/self/fd/${NAMESPACE_FD}`, '--', ...command], {
      stdio: ['ignore', 'ignore', 'pipe', 'ipc', namespace],
      env: ENVIRONMENT,
      cwd: '/',
    });
  } finally {
    closeSync(namespace);
  }
}

function openNamespace(proven: ProvenProcess): number {
  let namespace: number;
  try {
    namespace = openSync(`/proc/${proven.pid}/ns/net`, 'r');
  } catch (error) {
    throw new NetnsEntryError('the network namespace of the pod cannot be opened', { cause: error });
  }
  if (isStill(proven)) return namespace;
  closeSync(namespace);
  throw new NetnsEntryError("the pod's sandbox has ended");
}

import { randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { type CallOptions, type ImageFacet, ProviderError, type ProviderErrorCode } from '../contract/index.ts';
import { LABEL } from '../shared/unit-labels.ts';
import { adopted } from './dial-tcp.ts';
import { type Engine, SLOW_CALL_MS } from './engine.ts';
import { statusBehind } from './errors.ts';
import { hijack } from './hijack.ts';
import type { SandboxKey } from './on-demand.ts';
import { relayScript } from './relay-script.ts';
import { RelayStream } from './relay-stream.ts';
import { removeByForce } from './units.ts';

/** A container beside those of a pod, in its network, that connects where we cannot. No container of the pod: nobody observes it. */
export interface RelaySettings {
  /** With sh and nc. */
  readonly image: string;
  readonly images: Pick<ImageFacet, 'imagePresent' | 'pullImage'>;
}

export function relayName({ uid }: SandboxKey): string {
  return `outrigger_RELAY_${uid}_${randomUUID().slice(0, 8)}`;
}

export class Relay {
  readonly #engine: Engine;
  readonly #id: string;
  /** Its standard input: when it closes, however we end, the relay ends, and the engine removes it. */
  readonly #lifeline: Duplex;

  private constructor(engine: Engine, id: string, lifeline: Duplex) {
    this.#engine = engine;
    this.#id = id;
    this.#lifeline = lifeline;
    lifeline.resume();
  }

  static async start(
    engine: Engine,
    settings: RelaySettings,
    name: string,
    key: SandboxKey,
    options: CallOptions,
  ): Promise<Relay> {
    const id = await create(engine, settings, name, key, options);
    try {
      const attach = {
        what: 'attach to a relay',
        path: `/containers/${id}/attach?`,
        body: { stream: true, stdin: true },
      };
      const lifeline = await hijack(engine, attach, options);
      await engine.calls.call('start a relay', { ...options, timeoutMs: SLOW_CALL_MS }, (abortSignal) =>
        engine.docker.getContainer(id).start({ abortSignal }),
      );
      return new Relay(engine, id, lifeline);
    } catch (error) {
      await removeByForce(engine, id, options).catch(() => {}); // the engine is gone, or the relay; the first failure counts
      if (statusBehind(error) === undefined) throw error;
      const words = error instanceof Error ? error.message : String(error);
      throw relayFailure('Internal', `the relay image "${settings.image}" cannot be started: ${words}`, error);
    }
  }

  get alive(): boolean {
    return !this.#lifeline.destroyed && !this.#lifeline.readableEnded;
  }

  async dial(addresses: readonly string[], port: number, options: CallOptions): Promise<Duplex> {
    const { signal } = options;
    const Cmd = ['sh', '-c', relayScript(addresses, port)];
    const exec = await this.#engine.calls.call(
      'prepare a connection',
      { signal, timeoutMs: SLOW_CALL_MS },
      (abortSignal) =>
        this.#engine.docker
          .getContainer(this.#id)
          .exec({ Cmd, AttachStdin: true, AttachStdout: true, AttachStderr: true, abortSignal }),
    );
    const start = { what: 'make a connection', path: `/exec/${exec.id}/start`, body: { Detach: false, Tty: false } };
    const stream = adopted(new RelayStream(await hijack(this.#engine, start, options)), signal);
    const pid = await stream.opened;
    stream.once('close', () => {
      // A server that pays no attention to the end of its input would keep the command, which nobody reads any more.
      if (!stream.readableEnded) void this.#kill(pid);
    });
    return stream;
  }

  /** Never rejects: what cannot be removed now has lost its lifeline, and is found by its labels. */
  async end(): Promise<void> {
    this.#lifeline.destroy();
    const { signal } = this.#engine.context;
    try {
      await removeByForce(this.#engine, this.#id, { signal });
    } catch (error) {
      this.#engine.context.log.debug({ err: error, container: this.#id }, 'a relay was not removed');
    }
  }

  /** Never rejects. The number is the relay's own, from within; a command of `exec` leads a group of its own. */
  async #kill(pid: number): Promise<void> {
    const { docker, calls, context } = this.#engine;
    try {
      const exec = await calls.call('end a connection', context, (abortSignal) =>
        docker.getContainer(this.#id).exec({ Cmd: ['sh', '-c', `kill -9 -${pid}`], abortSignal }),
      );
      await calls.call('end a connection', context, (abortSignal) => exec.start({ Detach: true, abortSignal }));
    } catch {
      // Gone with its relay.
    }
  }
}

async function create(
  engine: Engine,
  { image, images }: RelaySettings,
  name: string,
  { uid, sandboxId }: SandboxKey,
  options: CallOptions,
): Promise<string> {
  const ask = async (): Promise<string> => {
    const made = await engine.calls.call('create a relay', { ...options, timeoutMs: SLOW_CALL_MS }, (abortSignal) =>
      engine.docker.createContainer({
        name,
        Image: image,
        // Until the end of its input.
        Entrypoint: ['sh', '-c', 'read -r _'],
        Cmd: [],
        User: '65534:65534',
        WorkingDir: '/',
        OpenStdin: true,
        StdinOnce: true,
        AttachStdin: true,
        Healthcheck: { Test: ['NONE'] },
        Labels: { ...engine.context.ownerLabels, [LABEL.kind]: 'relay', [LABEL.podUid]: uid },
        HostConfig: {
          NetworkMode: `container:${sandboxId}`,
          IpcMode: 'none',
          AutoRemove: true,
          CapDrop: ['ALL'],
          SecurityOpt: ['no-new-privileges'],
          ReadonlyRootfs: true,
          PidsLimit: 4096,
          Init: false,
          RestartPolicy: { Name: 'no' },
          LogConfig: { Type: 'none', Config: {} },
        },
        abortSignal,
      }),
    );
    return made.id;
  };
  try {
    return await ask();
  } catch (error) {
    // 404 is about the image or about the sandbox.
    if (statusBehind(error) !== 404 || (await images.imagePresent(image, options)) !== undefined) throw error;
    try {
      await images.pullImage(image, [], options);
    } catch (cause) {
      if (!(cause instanceof ProviderError) || cause.code === 'Unavailable') throw cause;
      throw relayFailure(
        cause.code,
        `the relay image "${image}" is not on the engine and cannot be pulled: ${cause.message}`,
        cause,
      );
    }
    return await ask();
  }
}

function relayFailure(code: ProviderErrorCode, message: string, cause: unknown): ProviderError {
  return new ProviderError(code, `${message}; relayImage names another one, with sh and nc`, { cause });
}

import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Logger } from '../../telemetry/logger.ts';
import type { Clock } from '../../util/clock.ts';
import { type AccessPolicy, checkAccess, type User } from '../auth.ts';
import { DEBUG_DISABLED, debugDisabled } from '../debug-handlers.ts';
import { pathOf, queryOf } from '../reply.ts';
import { answer, type Refusal, refuse } from './answers.ts';
import { type Negotiated, negotiate, switchToSpdy, wantsChannels } from './handshake.ts';
import type { Transport } from './negotiation.ts';
import { forwardOverSpdy } from './portforward-spdy.ts';
import { forwardOverWebSocket } from './portforward-ws.ts';
import { runRemoteCommand } from './remotecommand.ts';
import type { RemoteSession } from './session.ts';
import { spdySession } from './spdy-session.ts';
import { planStream, type StreamPlan, type StreamTargets, type Subresource, streamRoute } from './target.ts';
import { WebSocketAcceptor } from './ws/accept.ts';
import { tunnel } from './ws/tunnel.ts';
import { webSocketSession } from './ws-session.ts';

export interface StreamServerOptions extends StreamTargets {
  readonly access: AccessPolicy;
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Connections on which nothing happens end after it (`streamingConnectionIdleTimeout`). */
  readonly streamingIdleTimeoutMs: number;
  /** Commands of exec are killed when their client goes; otherwise they live on, as on the kubelet. */
  readonly endExecWithClient?: boolean;
  /** False: `enableDebuggingHandlers` is, and nothing here is to be had. */
  readonly debugging?: boolean;
  readonly http: StreamMetrics;
}

/** Each function is called at a beginning, and what it returns at the end. */
interface StreamMetrics {
  /** Every request, let through or not. */
  began(method: string, url: string, server: 'readwrite'): () => void;
  /** What is let through, with what was agreed on. */
  streamOpened(subresource: Subresource, protocol: string, transport: Transport): () => void;
}

const KEEP_ALIVE_MS = 15_000;
const LINGER_MS = 5_000;
const METHOD_NOT_ALLOWED = refuse(405, '405: Method Not Allowed', [['Allow', 'GET, POST']]);

/**
 * Everything behind `Connection: Upgrade`: exec, attach and port-forward (reference 11.7 to 11.10). Express never sees these
 * requests, so each check of a plain one is made here too, in the same order. Whatever goes wrong ends one socket only.
 */
export class StreamServer {
  readonly #options: StreamServerOptions;
  readonly #acceptor = new WebSocketAcceptor();
  /** The HTTP server knows nothing of upgraded sockets any more, and waits for them when it closes. */
  readonly #sockets = new Set<Duplex>();
  #closed = false;

  constructor(options: StreamServerOptions) {
    this.#options = options;
  }

  /** Whether an upgrade concerns this server; other requests are served as if they had not asked for one. */
  wants(request: IncomingMessage): boolean {
    return streamRoute(request.url) !== undefined;
  }

  /** For the server's 'upgrade' event. Never throws. */
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // Before anything else: a client may be gone at any moment.
    socket.on('error', () => {});
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    if (this.#closed) {
      socket.destroy();
      return;
    }
    if (socket instanceof Socket) socket.setNoDelay(true).setTimeout(0).setKeepAlive(true, KEEP_ALIVE_MS);
    const { http, log } = this.#options;
    const done = http.began(request.method ?? '', request.url ?? '', 'readwrite');
    this.#serve(request, socket, head)
      .catch((error: unknown) => {
        log.error({ err: error, path: pathOf(request) }, 'stream failed');
        socket.destroy();
      })
      .finally(done);
  }

  /** How many connections are open. */
  get size(): number {
    return this.#sockets.size;
  }

  /** Ends all of them, and each one to come. */
  close(): void {
    this.#closed = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  async #serve(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const user = await this.#authorize(request, socket);
    if (socket.destroyed) return;
    if (user.type === 'refused') {
      this.#refuse(socket, user);
      return;
    }
    const accepted = this.#accept(request);
    if (accepted.type === 'refused') {
      this.#refuse(socket, accepted);
      return;
    }
    const { plan, negotiated } = accepted;
    const { transport, protocol } = negotiated;
    const { clock, http, log } = this.#options;
    const about = { path: pathOf(request), subresource: accepted.subresource };
    log.info({ ...about, user: user.name, transport, protocol }, 'stream opened');
    const since = clock.now();
    const closed = http.streamOpened(accepted.subresource, protocol, transport);
    try {
      if (plan.type === 'portForward') await this.#forward(plan, negotiated, request, socket, head);
      else await this.#command(plan, negotiated, request, socket, head);
    } finally {
      closed();
    }
    log.info({ ...about, durationMs: clock.now() - since }, 'stream closed');
  }

  async #authorize(request: IncomingMessage, socket: Duplex): Promise<{ type: 'user'; name: string } | Refusal> {
    const gone = new AbortController();
    const onClose = (): void => gone.abort(new Error('the client is gone'));
    socket.once('close', onClose);
    const access = await checkAccess(request, this.#options.access, { signal: gone.signal });
    socket.off('close', onClose);
    if (access.type === 'granted') return userOf(access.user);
    if (access.code === 500 && !gone.signal.aborted) {
      this.#options.log.warn({ err: access.cause, path: pathOf(request) }, 'request could not be authorized');
    }
    return refuse(access.code, access.body);
  }

  #accept(request: IncomingMessage): Accepted | Refusal {
    const { method = '', url } = request;
    const route = streamRoute(url);
    if (this.#options.debugging === false && debugDisabled(pathOf(request))) {
      return refuse(DEBUG_DISABLED.code, DEBUG_DISABLED.body);
    }
    if (route === undefined) return refuse(404, '404 page not found\n');
    if (route.type === 'refused') return route;
    if (method !== 'GET' && method !== 'POST') return METHOD_NOT_ALLOWED;
    const plan = planStream(this.#options, route, queryOf(request), { needsPorts: wantsChannels(request) });
    if (plan.type === 'refused') return plan;
    const negotiated = negotiate(request, plan.type === 'portForward' ? 'forward' : 'command');
    if (negotiated.type === 'refused') return negotiated;
    return { type: 'accepted', subresource: route.subresource, plan, negotiated };
  }

  async #command(
    plan: Exclude<StreamPlan, { type: 'portForward' }>,
    { transport, protocol }: Negotiated,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): Promise<void> {
    const { clock, log, endExecWithClient = false } = this.#options;
    const { streams, ref } = plan;
    const session = { protocol, streams, clock, idleTimeoutMs: this.#options.streamingIdleTimeoutMs };
    let remote: RemoteSession | undefined;
    if (transport === 'websocket') {
      remote = this.#acceptor.accept(request, socket, head, {
        subprotocol: protocol,
        attach: (webSocket) => webSocketSession(webSocket, session),
      });
    } else {
      switchToSpdy(socket, protocol);
      remote = await spdySession(socket, head, session);
    }
    if (remote === undefined) {
      log.info({ path: pathOf(request) }, 'client opened no streams');
      return;
    }
    const { tty, stdin } = streams;
    await runRemoteCommand(
      remote,
      {
        type: plan.type,
        open: (call) => {
          if (plan.type === 'attach') return plan.facet.attach(ref, { tty, stdin }, call);
          const command = queryOf(request).getAll('command');
          return plan.facet.exec(ref, { command, tty, stdin, killOnAbort: endExecWithClient }, call);
        },
      },
      log,
    );
  }

  async #forward(
    { target, ports }: Extract<StreamPlan, { type: 'portForward' }>,
    { transport, protocol, tunnelled }: Negotiated,
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
  ): Promise<void> {
    const { clock } = this.#options;
    const session = { clock, idleTimeoutMs: this.#options.streamingIdleTimeoutMs };
    if (transport === 'spdy') {
      switchToSpdy(socket, protocol);
      await forwardOverSpdy(socket, head, target, session);
      return;
    }
    await this.#acceptor.accept(request, socket, head, {
      subprotocol: protocol,
      attach: (webSocket) =>
        tunnelled
          ? forwardOverSpdy(tunnel(webSocket, clock), Buffer.alloc(0), target, session)
          : forwardOverWebSocket(webSocket, { ...session, protocol, ports, target }),
    });
  }

  #refuse(socket: Duplex, refusal: Refusal): void {
    const { clock } = this.#options;
    answer(socket, refusal, clock.now());
    const cancel = clock.timer(LINGER_MS, () => socket.destroy());
    socket.once('close', cancel);
  }
}

interface Accepted {
  readonly type: 'accepted';
  readonly subresource: Subresource;
  readonly plan: StreamPlan;
  readonly negotiated: Negotiated;
}

function userOf({ name }: User): { type: 'user'; name: string } {
  return { type: 'user', name };
}

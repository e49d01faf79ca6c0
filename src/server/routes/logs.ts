import type { ServerResponse } from 'node:http';
import { Router } from 'express';
import {
  type ContainerRef,
  isProviderError,
  type LogFacet,
  type LogRequest,
} from '../../../providers/contract/index.ts';
import { type Pod, type PodStatus, podUid } from '../../model/pod.ts';
import type { ObservedStore } from '../../model/stores.ts';
import type { Logger } from '../../telemetry/logger.ts';
import type { Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import { goQuote } from '../../util/go-quote.ts';
import { ClientAbort } from '../client-abort.ts';
import { findInstance, hasContainer, selectInstance } from '../logs/instance.ts';
import { decodeLogOptions, type LogOptions } from '../logs/options.ts';
import { LineOutput } from '../logs/output.ts';
import { LogRenderer } from '../logs/render.ts';
import { onlyGet, queryOf, sendText } from '../reply.ts';

export interface LogsDeps {
  findPod(namespace: string, name: string): Pod | undefined;
  /** The status computed last; without one the API server's counts. */
  status(uid: ReturnType<typeof podUid>): PodStatus | undefined;
  readonly observed: Pick<ObservedStore, 'get'>;
  /** Absent: the backend keeps no logs. */
  readonly logs?: LogFacet;
  readonly clock: Pick<Clock, 'now'>;
  readonly log: Pick<Logger, 'warn'>;
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
}

/** `kubectl logs` (reference 11.4). */
export function logsRoutes(deps: LogsDeps): Router {
  const router = Router({ caseSensitive: true });
  router.all('/containerLogs/:namespace/:pod/:container', onlyGet);
  router.get('/containerLogs/:namespace/:pod/:container', async (request, response) => {
    const target = prepare(deps, request.params, queryOf(request));
    if (target.type === 'refused') sendText(response, target.code, target.body);
    else await stream(deps, target, response);
  });
  return router;
}

interface Target {
  readonly type: 'stream';
  readonly options: LogOptions;
  readonly logs: LogFacet;
  /** Undefined: the status names an incarnation that the backend no longer has. */
  readonly ref: ContainerRef | undefined;
  readonly containerId: string;
}

type Refusal = { readonly type: 'refused'; readonly code: number; readonly body: string };

function prepare(
  deps: LogsDeps,
  names: { readonly namespace: string; readonly pod: string; readonly container: string },
  query: URLSearchParams,
): Target | Refusal {
  const refuse = (code: number, body: string): Refusal => ({ type: 'refused', code, body });
  const decoded = decodeLogOptions(query, deps.clock.now());
  if (decoded.type === 'refused') return decoded;
  const { options } = decoded;
  const pod = deps.findPod(names.namespace, names.pod);
  if (pod === undefined) return refuse(404, `pod ${goQuote(names.pod)} does not exist`);
  if (!hasContainer(pod, names.container)) {
    return refuse(404, `container ${goQuote(names.container)} not found in pod ${goQuote(names.pod)}`);
  }
  if (options.stream !== undefined && options.stream !== 'All') {
    const hint = 'Please enable PodLogsQuerySplitStreams feature gate in kubelet';
    return refuse(400, `unable to return the given log stream: ${goQuote(options.stream)}. ${hint}`);
  }
  if (deps.logs === undefined) return refuse(501, 'the backend of this node keeps no container logs');
  const status = deps.status(podUid(pod)) ?? pod.status ?? {};
  const selection = selectInstance(names.pod, names.container, status, options.previous);
  if (selection.type === 'unavailable') return refuse(400, selection.message);
  const observed = deps.observed.get(podUid(pod));
  // Asked, and the backend knows nothing of the pod: then it has no such container either.
  const gone = observed !== undefined && observed.pod === undefined;
  const ref = gone ? undefined : findInstance(pod, names.container, selection, observed?.pod);
  return { type: 'stream', options, logs: deps.logs, ref, containerId: selection.containerId };
}

/** From here on the answer is 200: whatever goes wrong becomes text at the end of the body. */
async function stream(deps: LogsDeps, target: Target, response: ServerResponse): Promise<void> {
  using child = new ClientAbort(response, deps.signal);
  response.writeHead(200);
  // A client that follows a silent container must see the beginning of the answer.
  response.flushHeaders();
  const { signal } = child;
  try {
    await copy(target, response, signal);
  } catch (error) {
    if (!signal.aborted) {
      deps.log.warn({ err: error, container: target.ref, containerId: target.containerId }, 'container log broke off');
      response.write(failureText(target, error));
    }
  } finally {
    // Ends the provider's call too when we stop before it does (limitBytes).
    child.abort();
    await written(response);
    response.end();
  }
}

/**
 * Until all bytes so far have left for the client, if it still is there. The end of the body must not share a TLS record with
 * them: for clients that read logs over a WebSocket the API server drops what it reads together with the end
 * (apimachinery: wsstream, messageCopy).
 */
function written(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => response.write('', () => resolve()));
}

async function copy(
  { ref, logs, options, containerId }: Target,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  if (ref === undefined) {
    response.write(goneText(containerId));
    return;
  }
  const renderer = new LogRenderer(options);
  if (renderer.finished) return;
  const output = new LineOutput(response, signal);
  try {
    for await (const record of logs.logs(ref, providerRequest(options), { signal })) {
      const bytes = renderer.render(record);
      const full = bytes.length > 0 ? output.write(bytes) : undefined;
      if (full !== undefined) await full;
      if (renderer.finished || signal.aborted) return;
    }
  } finally {
    output.flush();
  }
}

/**
 * The provider finds the last records (before any look at their time, as the kubelet counts). `since` is only a hint to skip
 * what is certainly older, and would change what the tail counts; the renderer decides. One second early, since a line in
 * pieces may have begun before.
 */
function providerRequest({ follow, tailLines, since }: LogOptions): LogRequest {
  if (tailLines !== undefined) return { follow, tailLines };
  return { follow, ...(since !== undefined && { since: new Date(Date.parse(since) - 1_000) }) };
}

function failureText({ containerId }: Target, error: unknown): string {
  return isProviderError(error, 'NotFound') ? goneText(containerId) : errorMessage(error);
}

function goneText(containerId: string): string {
  return `unable to retrieve container logs for ${containerId}`;
}

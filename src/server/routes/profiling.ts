import { type Response, Router } from 'express';
import type { Clock } from '../../util/clock.ts';
import { ClientAbort } from '../client-abort.ts';
import { type Profile, Profiler } from '../profiler.ts';
import { onlyGet, queryOf, redirectToFolder, sendLine } from '../reply.ts';

export interface ProfilingDeps {
  /** `enableProfilingHandler` */
  readonly profiling: boolean;
  readonly clock: Pick<Clock, 'sleep'>;
  /** Aborts when the server stops. */
  readonly signal: AbortSignal;
}

const PROFILES: Readonly<Record<string, { readonly kind: Profile; readonly seconds: number; readonly help: string }>> =
  {
    profile: { kind: 'cpu', seconds: 30, help: 'CPU profile (?seconds=), to open in the developer tools of a browser' },
    heap: { kind: 'heap', seconds: 10, help: 'where memory is allocated (?seconds=): call sites only, no contents' },
  };
/** A profile is held in memory. */
const MAX_SECONDS = 300;

/** `/debug/pprof/`, with the profiles of this runtime instead of Go's (docs/deviations.md). */
export function profilingRoutes({ profiling, clock, signal }: ProfilingDeps): Router {
  const router = Router({ caseSensitive: true });
  if (!profiling) {
    router.use('/debug/pprof', (_request, response) => sendLine(response, 405, 'profiling endpoint is disabled.'));
    return router;
  }
  const profiler = new Profiler(clock);
  router.all('/debug/pprof/', redirectToFolder('/debug/pprof/'), onlyGet, (_request, response) =>
    sendLine(response, 200, index()),
  );
  router.all('/debug/pprof/:name', onlyGet, async (request, response) => {
    const { name } = request.params;
    const found = Object.hasOwn(PROFILES, name) ? PROFILES[name] : undefined;
    if (found === undefined) {
      sendLine(response, 404, 'Unknown profile');
      return;
    }
    // Go takes what is no number for the default.
    const asked = Number(queryOf(request).get('seconds') ?? 0);
    const seconds = asked > 0 ? asked : found.seconds;
    if (seconds > MAX_SECONDS) {
      sendLine(response, 400, `profile duration exceeds the ${MAX_SECONDS} seconds of this server`);
      return;
    }
    if (profiler.running) {
      sendLine(response, 500, `Could not enable ${found.kind} profiling: profiling already in use`);
      return;
    }
    await send(response, profiler, found.kind, seconds, signal);
  });
  return router;
}

async function send(
  response: Response,
  profiler: Profiler,
  kind: Profile,
  seconds: number,
  signal: AbortSignal,
): Promise<void> {
  using child = new ClientAbort(response, signal);
  try {
    const profile = await profiler.take(kind, seconds * 1000, { signal: child.signal });
    response.setHeader('Content-Disposition', `attachment; filename="outrigger.${kind}profile"`);
    response.json(profile);
  } catch (error) {
    if (!child.signal.aborted) throw error;
    response.destroy();
  }
}

function index(): string {
  return Object.entries(PROFILES)
    .map(([name, { help }]) => `/debug/pprof/${name}: ${help}`)
    .join('\n');
}

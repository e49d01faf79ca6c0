import type { CallOptions, PodUid, ProviderHint } from '../contract/index.ts';
import { lines } from '../shared/lines.ts';
import { LABEL } from '../shared/unit-labels.ts';
import { asReadable, streamFailure } from './calls.ts';
import type { DetailsCache } from './details-cache.ts';
import type { Engine } from './engine.ts';
import { parseJsonLine } from './json-line.ts';
import { labelFilter } from './units.ts';

/** Longest event; the labels of a container travel with it. */
const MAX_EVENT_BYTES = 1024 * 1024;

/** What changes nothing that `list` tells. */
const IRRELEVANT = /^(exec_|top$|attach$|resize$|archive-path$|extract-to-dir$|export$|copy$|commit$)/;

/** Hints from the engine's event stream. Ends by throwing when the connection dies; whoever reads it opens it again. */
export async function* watchEvents(
  engine: Engine,
  cache: DetailsCache,
  options: CallOptions,
): AsyncGenerator<ProviderHint, void, undefined> {
  const { signal } = options;
  const stream = await engine.calls.open('tell its events', options, async (abortSignal) => {
    const filters = { type: ['container' as const], label: labelFilter(engine, {}) };
    return asReadable(await engine.docker.getEvents({ filters, abortSignal }));
  });
  const ended = cache.watch();
  try {
    // What happened before the stream was open, nobody has told us.
    yield { type: 'resync' };
    for await (const line of lines(stream, MAX_EVENT_BYTES)) {
      const event = parseEvent(line);
      if (event === undefined) continue;
      cache.invalidate(event.id);
      if (event.oom) cache.sawOom(event.id);
      yield { type: 'pod', uid: event.uid };
    }
  } catch (error) {
    throw streamFailure(error, signal);
  } finally {
    ended();
    stream.destroy();
  }
  if (signal.aborted) throw streamFailure(signal.reason, signal);
}

export interface EngineEvent {
  readonly id: string;
  readonly uid: PodUid;
  /** The kernel has killed a process of the container for its memory. */
  readonly oom: boolean;
}

export function parseEvent(line: string): EngineEvent | undefined {
  const parsed = parseJsonLine(line);
  if (parsed === undefined) return undefined;
  // Foreign data: every field is checked before it is used.
  const event = parsed as { Action?: unknown; Actor?: { ID?: unknown; Attributes?: Record<string, unknown> } };
  const uid = event.Actor?.Attributes?.[LABEL.podUid];
  const id = event.Actor?.ID;
  if (typeof event.Action !== 'string' || IRRELEVANT.test(event.Action)) return undefined;
  if (typeof uid !== 'string' || typeof id !== 'string') return undefined;
  return { id, uid: uid as PodUid, oom: event.Action === 'oom' };
}

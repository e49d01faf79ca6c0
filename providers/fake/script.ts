import type { ContainerSpec } from '../contract/index.ts';
import { envMap } from '../shared/env-map.ts';
import { type FakeScript, type FakeServer, parseServers, type ScriptMatcher } from './schema.ts';
import { readCommand } from './shell.ts';

/** Scripts by what they match, in the order given; a later one wins field by field. */
export class ScriptBook {
  readonly #entries: { readonly matcher: ScriptMatcher; readonly script: Partial<FakeScript> }[] = [];
  readonly #fallback: FakeScript;

  constructor(fallback: FakeScript = {}) {
    this.#fallback = fallback;
  }

  add(matcher: ScriptMatcher, script: Partial<FakeScript>): void {
    this.#entries.push({ matcher, script });
  }

  /** Given scripts over environment over command over default. */
  scriptFor(podName: string, spec: ContainerSpec): FakeScript {
    const env = envMap(spec.env);
    const matching = this.#entries.filter(({ matcher }) => matches(matcher, podName, spec)).map(({ script }) => script);
    return merge([
      this.#fallback,
      readCommand([...(spec.command ?? []), ...(spec.args ?? [])], env),
      fromEnv(env),
      ...matching,
    ]);
  }
}

function matches(matcher: ScriptMatcher, podName: string, spec: ContainerSpec): boolean {
  return (
    (matcher.pod === undefined || matcher.pod === podName) &&
    (matcher.container === undefined || matcher.container === spec.name) &&
    (matcher.image === undefined || matcher.image === spec.image) &&
    (matcher.attempt === undefined || matcher.attempt === spec.attempt)
  );
}

/** `undefined` never hides a value set earlier: the configuration's optional fields arrive as undefined. */
function merge(scripts: readonly Partial<FakeScript>[]): FakeScript {
  const result: Record<string, unknown> = {};
  for (const script of scripts)
    for (const [key, value] of Object.entries(script)) if (value !== undefined) result[key] = value;
  return result;
}

function fromEnv(env: ReadonlyMap<string, string>): Partial<FakeScript> {
  const number = (name: string): number | undefined => {
    const text = env.get(name);
    return text !== undefined && /^\d+$/.test(text) ? Number(text) : undefined;
  };
  const flag = (name: string): boolean | undefined => (env.has(name) ? env.get(name) === 'true' : undefined);
  const log = env.get('FAKE_LOG');
  const code = number('FAKE_EXIT_CODE');
  return {
    // An exit code alone means "at once": nobody sets one for a container that never exits.
    exitAfterMs: number('FAKE_EXIT_AFTER_MS') ?? (code === undefined ? undefined : 0),
    exitCode: code,
    signal: number('FAKE_EXIT_SIGNAL'),
    oomKilled: flag('FAKE_OOM'),
    message: env.get('FAKE_MESSAGE'),
    ignoreStop: flag('FAKE_IGNORE_STOP'),
    stopAfterMs: number('FAKE_STOP_AFTER_MS'),
    stopExitCode: number('FAKE_STOP_EXIT_CODE'),
    startError: env.get('FAKE_START_ERROR'),
    listen: serversOf(env.get('FAKE_LISTEN')),
    logs: log?.split('\n').map((text) => ({ text, stream: 'stdout', afterMs: 0, partial: false })),
  };
}

const SERVER = /^(\d{1,5})(?::(http|grpc|echo|count|hello|silent|refuse|reset|drop))?(@loopback)?$/;

/** "8080 9090:grpc 7000:echo@loopback"; a word that is none is left out. */
function serversOf(text: string | undefined): FakeServer[] | undefined {
  const words = text?.split(/[\s,]+/).map((word) => SERVER.exec(word));
  const servers = words?.flatMap((match) => {
    const port = Number(match?.[1]);
    if (!match || port < 1 || port > 65_535) return [];
    // The pattern lets only these words through.
    const does = (match[2] ?? 'http') as FakeServer['does'];
    return { port, does, on: match[3] === undefined ? ('all' as const) : ('loopback' as const) };
  });
  return servers && [...parseServers(servers)];
}

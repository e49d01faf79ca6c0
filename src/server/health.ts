export interface HealthCheck {
  readonly name: string;
  /** Text of what is wrong, if anything; must be quick. */
  check(): string | undefined;
}

export interface HealthAnswer {
  readonly code: 200 | 500;
  readonly body: string;
  /** Name and text of each failed check, for the log. */
  readonly failed: readonly string[];
}

/** The longer of five minutes and twice the kubelet's default of syncFrequency. */
const SYNC_LOOP_MS = 300_000;

/** `/healthz` as the API machinery answers it: a list when asked to be verbose or when something is wrong (reference 11.2). */
export function healthz(checks: readonly HealthCheck[], query: URLSearchParams): HealthAnswer {
  const excluded = new Set(query.getAll('exclude'));
  const unknown = new Set(excluded);
  const failed: string[] = [];
  const lines = checks.map(({ name, check }) => {
    if (excluded.has(name)) {
      unknown.delete(name);
      return `[+]${name} excluded: ok\n`;
    }
    const problem = check();
    if (problem === undefined) return `[+]${name} ok\n`;
    failed.push(`${name}: ${problem}`);
    // Whoever may see details asks for the single check.
    return `[-]${name} failed: reason withheld\n`;
  });
  if (unknown.size > 0) {
    const names = [...unknown].sort().map((name) => JSON.stringify(name));
    lines.push(`warn: some health checks cannot be excluded: no matches for ${names.join(',')}\n`);
  }
  const list = lines.join('');
  if (failed.length > 0) return { code: 500, body: `${list}healthz check failed\n`, failed };
  return { code: 200, body: query.has('verbose') ? `${list}healthz check passed\n` : 'ok', failed };
}

/** `/healthz/<name>`; undefined when there is no such check. */
export function singleCheck(checks: readonly HealthCheck[], name: string): HealthAnswer | undefined {
  const found = checks.find((check) => check.name === name);
  if (found === undefined) return undefined;
  const problem = found.check();
  return problem === undefined
    ? { code: 200, body: 'ok', failed: [] }
    : { code: 500, body: `internal server error: ${problem}\n`, failed: [`${name}: ${problem}`] };
}

/** What the kubelet's own checks are called (reference 11.2), for the probes of people who know them. */
export function kubeletChecks(loopEnteredMs: () => number, now: () => number): readonly HealthCheck[] {
  return [
    // Who hears the answer knows that it was given.
    { name: 'ping', check: () => undefined },
    // Lines are written before the code goes on: a log that is stuck answers nothing at all.
    { name: 'log', check: () => undefined },
    {
      name: 'syncloop',
      check: () => (now() - loopEnteredMs() > SYNC_LOOP_MS ? 'sync Loop took longer than expected' : undefined),
    },
  ];
}

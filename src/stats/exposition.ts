/** The text format of Prometheus, version 0.0.4. Pure. */

/** One metric: a name, and what was measured under it. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  readonly samples: readonly Sample[];
}

export interface Sample {
  readonly labels: Labels;
  readonly value: number;
  /** Milliseconds since the epoch; without it the time is that of the scrape. */
  readonly timeMs?: number;
}

export type Labels = Readonly<Record<string, string>>;

/**
 * Families by name, samples by labels, so that two scrapes can be compared. A series that comes twice would make the scraper
 * throw all of it away: the first one counts. Numbers that are none are left out for the same reason.
 */
export function expose(families: readonly Family[]): string {
  return families
    .filter(({ samples }) => samples.length > 0)
    .toSorted((a, b) => compare(a.name, b.name))
    .map(exposeFamily)
    .join('');
}

function exposeFamily({ name, help, type, samples }: Family): string {
  const lines = new Map<string, string>();
  for (const { labels, value, timeMs } of samples) {
    const series = labelSet(labels);
    if (!Number.isFinite(value) || lines.has(series)) continue;
    lines.set(series, timeMs === undefined ? `${value}` : `${value} ${Math.round(timeMs)}`);
  }
  if (lines.size === 0) return '';
  const head = `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n`;
  const rows = [...lines].toSorted(([a], [b]) => compare(a, b));
  return head + rows.map(([series, rest]) => `${name}${series} ${rest}\n`).join('');
}

function labelSet(labels: Labels): string {
  const names = Object.keys(labels).toSorted(compare);
  if (names.length === 0) return '';
  return `{${names.map((name) => `${name}="${escapeLabel(labels[name] ?? '')}"`).join(',')}}`;
}

const SPECIAL = /[\\"\n]/g;

function escapeLabel(text: string): string {
  return text.replace(SPECIAL, (character) => (character === '\n' ? '\\n' : `\\${character}`));
}

function escapeHelp(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
}

/** By code unit, whatever the locale of the machine. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

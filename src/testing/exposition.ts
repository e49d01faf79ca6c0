/** Prometheus' text format, version 0.0.4, read as strictly as Prometheus' own parser does; throws where that would. */

type MetricType = 'counter' | 'gauge' | 'histogram' | 'summary' | 'untyped';

interface ExposedSample {
  /** With the suffix `_bucket`, `_sum` or `_count` of a histogram. */
  readonly name: string;
  readonly labels: ReadonlyMap<string, string>;
  readonly value: number;
  readonly timeMs?: number;
}

export interface ExposedFamily {
  readonly name: string;
  readonly help?: string;
  readonly type: MetricType;
  readonly samples: readonly ExposedSample[];
}

interface Draft {
  readonly name: string;
  help?: string;
  type?: MetricType;
  readonly samples: ExposedSample[];
}

const NAME = /^[a-zA-Z_:][a-zA-Z0-9_:]*/;
const LABEL = /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\[\\"n])*)"/;
const TYPES: readonly string[] = ['counter', 'gauge', 'histogram', 'summary', 'untyped'] satisfies MetricType[];
const SUFFIXES = ['_bucket', '_sum', '_count'];

export function parseExposition(page: string): readonly ExposedFamily[] {
  if (page !== '' && !page.endsWith('\n')) throw new Error('the last line does not end');
  const families = new Map<string, Draft>();
  let current: Draft | undefined;
  const enter = (name: string): Draft => {
    if (current?.name === name) return current;
    if (families.has(name)) throw new Error(`${name} is told in two places`);
    current = { name, samples: [] };
    families.set(name, current);
    return current;
  };
  for (const [index, line] of page.split('\n').entries()) {
    try {
      if (line.trim() === '') continue;
      if (line.startsWith('#')) comment(line, enter);
      else {
        const sample = parseSample(line);
        const family = familyName(sample.name, current);
        enter(family).samples.push(sample);
      }
    } catch (error) {
      throw new Error(`line ${index + 1}: ${line}`, { cause: error });
    }
  }
  return [...families.values()].map(finish);
}

function comment(line: string, enter: (name: string) => Draft): void {
  const [, keyword, name = '', text = ''] = /^# (HELP|TYPE) (\S+) ?(.*)$/.exec(line) ?? [];
  if (keyword === undefined) return;
  const family = enter(name);
  if (NAME.exec(name)?.[0] !== name) throw new Error('no name of a metric');
  if (keyword === 'HELP') {
    if (family.help !== undefined) throw new Error('a second HELP');
    family.help = text;
    return;
  }
  if (family.type !== undefined) throw new Error('a second TYPE');
  if (family.samples.length > 0) throw new Error('TYPE after samples');
  if (!TYPES.includes(text)) throw new Error('no type');
  family.type = text as MetricType; // it is in the list
}

function parseSample(line: string): ExposedSample {
  const name = NAME.exec(line)?.[0];
  if (name === undefined) throw new Error('no name');
  let rest = line.slice(name.length);
  const labels = new Map<string, string>();
  if (rest.startsWith('{')) {
    rest = rest.slice(1);
    while (!rest.startsWith('}')) {
      const [whole, label = '', value = ''] = LABEL.exec(rest) ?? [];
      if (whole === undefined) throw new Error('no label');
      if (labels.has(label)) throw new Error(`label ${label} twice`);
      labels.set(
        label,
        value.replaceAll(/\\(.)/g, (_, escaped: string) => (escaped === 'n' ? '\n' : escaped)),
      );
      rest = rest.slice(whole.length);
      if (rest.startsWith(',')) rest = rest.slice(1);
      else if (!rest.startsWith('}')) throw new Error('labels do not end');
    }
    rest = rest.slice(1);
  }
  const [, value = '', time] = /^ (\S+)(?: (-?\d+))?$/.exec(rest) ?? [];
  return { name, labels, value: parseValue(value), ...(time === undefined ? {} : { timeMs: Number(time) }) };
}

function parseValue(text: string): number {
  if (text === '+Inf' || text === 'Inf') return Number.POSITIVE_INFINITY;
  if (text === '-Inf') return Number.NEGATIVE_INFINITY;
  if (text.toLowerCase() === 'nan') return Number.NaN;
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text)) throw new Error('no value');
  return Number(text);
}

function familyName(sample: string, current: Draft | undefined): string {
  const suffixed = current?.type === 'histogram' || current?.type === 'summary';
  if (current !== undefined && suffixed && SUFFIXES.some((suffix) => sample === `${current.name}${suffix}`))
    return current.name;
  return sample;
}

function finish({ name, help, type = 'untyped', samples }: Draft): ExposedFamily {
  const seen = new Set<string>();
  for (const { name: own, labels } of samples) {
    const key = `${own}${seriesKey(labels)}`;
    if (seen.has(key)) throw new Error(`${key} is there twice`);
    seen.add(key);
  }
  if (type === 'histogram') checkHistogram(name, samples);
  return { name, ...(help === undefined ? {} : { help }), type, samples };
}

/** Each set of labels has its buckets, which count up to +Inf, a sum, and a count that is what is in +Inf. */
function checkHistogram(name: string, samples: readonly ExposedSample[]): void {
  const byLabels = Map.groupBy(samples, ({ labels }) => seriesKey(labels, 'le'));
  for (const [key, series] of byLabels) {
    const buckets = series.filter((sample) => sample.name === `${name}_bucket`);
    const bounds = buckets.map(({ labels }) => parseValue(labels.get('le') ?? ''));
    const counts = buckets.map(({ value }) => value);
    const count = series.find((sample) => sample.name === `${name}_count`)?.value;
    if (!isAscending(bounds) || bounds.at(-1) !== Number.POSITIVE_INFINITY) throw new Error(`${name}${key}: bounds`);
    if (!isAscending(counts) || counts.at(-1) !== count) throw new Error(`${name}${key}: counts`);
    if (!series.some((sample) => sample.name === `${name}_sum`)) throw new Error(`${name}${key}: no sum`);
  }
}

function isAscending(numbers: readonly number[]): boolean {
  return numbers.every((number, index) => index === 0 || number >= (numbers[index - 1] ?? number));
}

function seriesKey(labels: ReadonlyMap<string, string>, except?: string): string {
  return JSON.stringify([...labels].filter(([label]) => label !== except).toSorted());
}

/** Value of the one series with these labels; further labels are allowed. Undefined if there is none, or more than one. */
export function seriesValue(
  families: readonly ExposedFamily[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined {
  const found = families
    .flatMap(({ samples }) => samples)
    .filter((sample) => sample.name === name)
    .filter((sample) => Object.entries(labels).every(([label, value]) => sample.labels.get(label) === value));
  return found.length === 1 ? found[0]?.value : undefined;
}

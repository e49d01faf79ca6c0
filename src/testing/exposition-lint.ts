import type { ExposedFamily } from './exposition.ts';

/** What `promtool check metrics` complains about (prometheus/client_golang, prometheus/testutil/promlint), in its words. */
export function lintExposition(families: readonly ExposedFamily[]): readonly string[] {
  return families.flatMap((family) => RULES.flatMap((rule) => rule(family)).map((text) => `${family.name} ${text}`));
}

type Rule = (family: ExposedFamily) => readonly string[];

const BASE_UNITS: ReadonlyMap<string, string> = new Map(
  ['amperes', 'bytes', 'celsius', 'grams', 'joules', 'kelvin', 'meters', 'metres', 'seconds', 'volts']
    .map((unit) => [unit, unit])
    .concat(['minutes', 'hours', 'days', 'weeks'].map((unit) => [unit, 'seconds']))
    .concat([
      ['bits', 'bytes'],
      ['calories', 'joules'],
    ]) as [string, string][], // pairs, as above
);
const PREFIX = /^(?:pico|nano|micro|milli|centi|deci|deca|hecto|kilo|kibi|mega|mibi|giga|gibi|tera|tebi|peta|pebi)/;
const ABBREVIATION = /_(?:s|ms|us|ns|sec|b|kb|mb|gb|tb|pb|m|h|d)(?:_|$)/i;
const CAMEL_CASE = /[a-z][A-Z]/;

const RULES: readonly Rule[] = [
  ({ help }) => (help === undefined ? ['no help text'] : []),
  ({ name, type }) => {
    const total = name.endsWith('_total');
    if (type === 'counter') return total ? [] : ['counter metrics should have "_total" suffix'];
    return total && type !== 'untyped' ? ['non-counter metrics should not have "_total" suffix'] : [];
  },
  units,
  ({ name, type }) =>
    type !== 'untyped' && new RegExp(`_${type}(_|$)`, 'i').test(name)
      ? [`metric name should not include type '${type}'`]
      : [],
  ({ name }) => (name.includes(':') ? [`metric names should not contain ':'`] : []),
  ({ name }) => (CAMEL_CASE.test(name) ? [`metric names should be written in 'snake_case' not 'camelCase'`] : []),
  (family) =>
    labelNames(family).some((label) => CAMEL_CASE.test(label))
      ? [`label names should be written in 'snake_case' not 'camelCase'`]
      : [],
  ({ name }) => (ABBREVIATION.test(name) ? ['metric names should not contain abbreviated units'] : []),
  reserved,
];

function units({ name }: ExposedFamily): readonly string[] {
  for (const word of name.split('_')) {
    const base = BASE_UNITS.get(word) ?? BASE_UNITS.get(word.replace(PREFIX, ''));
    if (base !== undefined) return base === word ? [] : [`use base unit "${base}" instead of "${word}"`];
  }
  return [];
}

/** Suffixes and labels that belong to histograms and summaries. */
function reserved(family: ExposedFamily): readonly string[] {
  const { name, type } = family;
  if (type === 'untyped' || type === 'histogram') return [];
  const found: string[] = [];
  if (name.endsWith('_bucket')) found.push('non-histogram metrics should not have "_bucket" suffix');
  for (const suffix of ['_count', '_sum'])
    if (type !== 'summary' && name.endsWith(suffix))
      found.push(`non-histogram and non-summary metrics should not have "${suffix}" suffix`);
  const labels = labelNames(family);
  if (labels.includes('le')) found.push('non-histogram metrics should not have "le" label');
  if (type !== 'summary' && labels.includes('quantile'))
    found.push('non-summary metrics should not have "quantile" label');
  return found;
}

/** Of all its series. */
export function labelNames({ samples }: Pick<ExposedFamily, 'samples'>): readonly string[] {
  return [...new Set(samples.flatMap(({ labels }) => [...labels.keys()]))].toSorted();
}

import { type ExposedFamily, parseExposition } from '../exposition.ts';
import { labelNames } from '../exposition-lint.ts';
import { metricPages } from '../metrics-setup.ts';
import { type Blocks, table } from './document.ts';

/** Labels of buckets say nothing about a metric. */
const OF_BUCKETS = 'le';

/** Blocks of docs/metrics.md: what the pages hold when everything has happened once. */
export async function metricBlocks(): Promise<Blocks> {
  const pages = [...(await metricPages())].map(([path, text]) => ({ path, families: parseExposition(text) }));
  const own = pages.flatMap(({ families }) => families).filter(({ name }) => name.startsWith('outrigger_'));
  const others = pages.map(({ path, families }) => ({
    path,
    families: families.filter(({ name }) => !name.startsWith('outrigger_') && !name.startsWith('nodejs_')),
  }));
  return {
    'own metrics': table(
      ['name', 'type', 'labels', 'what it is'],
      sorted(own).map((family) => [code(family.name), family.type, labels(family), family.help ?? '']),
    ),
    'kubelet metrics': table(
      ['page', 'name', 'type', 'labels'],
      others.flatMap(({ path, families }) =>
        sorted(families).map((family) => [code(path), code(family.name), family.type, labels(family)]),
      ),
    ),
  };
}

function sorted(families: readonly ExposedFamily[]): readonly ExposedFamily[] {
  return families.toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function labels(family: ExposedFamily): string {
  return labelNames(family)
    .filter((label) => label !== OF_BUCKETS)
    .map(code)
    .join(' ');
}

function code(text: string): string {
  return `\`${text}\``;
}

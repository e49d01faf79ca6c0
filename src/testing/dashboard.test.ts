import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type ExposedFamily, parseExposition } from './exposition.ts';
import { metricPages } from './metrics-setup.ts';

const FILE = new URL('../../charts/outrigger/dashboards/outrigger.json', import.meta.url);
/** What Prometheus adds to each series. */
const ADDED = ['job', 'instance'];

const panelSchema = z.object({
  id: z.number(),
  title: z.string(),
  type: z.string(),
  targets: z.array(z.object({ expr: z.string() })).default([]),
});
const dashboardSchema = z.object({
  templating: z.object({ list: z.array(z.object({ type: z.string(), query: z.string() })) }),
  panels: z.array(panelSchema),
});

/** Each `name{selectors}` of an expression with the labels that are asked of it. */
function selectors(expression: string): { readonly name: string; readonly labels: readonly string[] }[] {
  const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/));
  return [...expression.matchAll(/([a-z_:][\w:]*)\{([^}]*)\}/gi)].map(([, name = '', inside = '']) => ({
    name,
    labels: [...grouped, ...[...inside.matchAll(/(\w+)\s*[=!]/g)].map(([, label = '']) => label)],
  }));
}

describe('the dashboard', () => {
  const dashboard = dashboardSchema.parse(JSON.parse(readFileSync(FILE, 'utf8')));
  let families: readonly ExposedFamily[];
  beforeAll(async () => {
    families = [...(await metricPages()).values()].flatMap(parseExposition);
  });

  /** Labels of the series with this name; undefined if nothing exposes it. */
  function labelsOf(name: string): ReadonlySet<string> | undefined {
    const samples = families.flatMap((family) => family.samples).filter((sample) => sample.name === name);
    if (samples.length === 0) return undefined;
    return new Set([...samples.flatMap(({ labels }) => [...labels.keys()]), ...ADDED]);
  }

  it('asks only for series and labels that a node exposes', () => {
    const { list } = dashboard.templating;
    const queries = list.filter(({ type }) => type === 'query').map(({ query }) => query);
    const expressions = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const asked = [...queries, ...expressions].map((expression) => ({ expression, found: selectors(expression) }));
    const missing = asked.flatMap(({ expression, found }) => {
      // `label_values(name, label)` has no braces.
      if (found.length === 0 && !expression.startsWith('label_values(')) return [`no series in ${expression}`];
      return found.flatMap(({ name, labels }) => {
        const known = labelsOf(name);
        if (known === undefined) return [`nothing exposes ${name}`];
        return labels.filter((label) => !known.has(label)).map((label) => `${name} has no label ${label}`);
      });
    });
    expect(missing).toEqual([]);
    for (const query of queries) {
      const [, name = '', label = ''] = /^label_values\((\w+)(?:\{[^}]*\})?, (\w+)\)$/.exec(query) ?? [];
      expect([query, labelsOf(name)?.has(label)]).toEqual([query, true]);
    }
  });

  it('has a panel for each of our own metrics', () => {
    const text = JSON.stringify(dashboard);
    const own = families.map(({ name }) => name).filter((name) => name.startsWith('outrigger_'));
    // How often commands of clients are opened is shown by what is open; failures of turns by the errors of the provider.
    const untold = own.filter((name) => !text.includes(name));
    expect(untold).toEqual(['outrigger_pod_turn_failures_total', 'outrigger_streams_total']);
  });

  it('gives each panel an id of its own', () => {
    const ids = dashboard.panels.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });
});

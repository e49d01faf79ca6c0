import { describe, expect, it } from 'vitest';
import { parseExposition, seriesValue } from './exposition.ts';
import { lintExposition } from './exposition-lint.ts';

const HISTOGRAM = `# HELP h_seconds a
# TYPE h_seconds histogram
h_seconds_bucket{le="1",a="x"} 1
h_seconds_bucket{le="+Inf",a="x"} 3
h_seconds_sum{a="x"} 2.5
h_seconds_count{a="x"} 3
`;

describe('the parser of pages of metrics', () => {
  it('reads names, labels with escapes, values and times', () => {
    const families = parseExposition(
      '# HELP a_total b \\\\ c\n# TYPE a_total counter\na_total{x="q\\"\\n\\\\",y=""} 1e3 -5\n',
    );
    expect(families).toMatchObject([{ name: 'a_total', type: 'counter', help: 'b \\\\ c' }]);
    expect(families[0]?.samples).toEqual([
      {
        name: 'a_total',
        labels: new Map([
          ['x', 'q"\n\\'],
          ['y', ''],
        ]),
        value: 1000,
        timeMs: -5,
      },
    ]);
    expect(seriesValue(parseExposition(HISTOGRAM), 'h_seconds_bucket', { le: '1' })).toBe(1);
    expect(seriesValue(parseExposition(HISTOGRAM), 'h_seconds_bucket')).toBeUndefined();
  });

  it.each([
    ['a 1', 'a last line without an end'],
    ['a{b="c} 1\n', 'a value that does not end'],
    ['a{b="\\t"} 1\n', 'an escape that there is not'],
    ['a{b="c",b="d"} 1\n', 'a label twice'],
    ['a 0x10\n', 'a value that is no number'],
    ['a 1 2.5\n', 'a time that is no whole number'],
    ['1a 1\n', 'a name that begins with a digit'],
    ['a 1\na 2\n', 'a series twice'],
    ['a 1\nb 1\na{x="1"} 1\n', 'a family in two places'],
    ['a 1\n# TYPE a gauge\n', 'a type after the samples'],
    ['# TYPE a thing\na 1\n', 'a type that there is not'],
    ['# HELP a x\n# HELP a y\na 1\n', 'help twice'],
    [HISTOGRAM.replace('le="+Inf"', 'le="5"'), 'a histogram without +Inf'],
    [HISTOGRAM.replace('le="1",a="x"} 1', 'le="1",a="x"} 4'), 'buckets that count down'],
    [HISTOGRAM.replace('count{a="x"} 3', 'count{a="x"} 4'), 'a count that is another'],
    [HISTOGRAM.replace(/.*_sum.*\n/, ''), 'a histogram without a sum'],
  ])('refuses %j: %s', (page) => {
    expect(() => parseExposition(page)).toThrow();
  });
});

describe('the rules of names', () => {
  it('are those of promtool, in its words', () => {
    const page = `# TYPE a_ms counter
a_ms{fooBar="1",le="1"} 1
# HELP b_milliseconds_total x
# TYPE b_milliseconds_total gauge
b_milliseconds_total 1
# HELP x:y_gauge_count x
# TYPE x:y_gauge_count gauge
x:y_gauge_count 1
`;
    expect(lintExposition(parseExposition(page))).toEqual([
      'a_ms no help text',
      'a_ms counter metrics should have "_total" suffix',
      `a_ms label names should be written in 'snake_case' not 'camelCase'`,
      'a_ms metric names should not contain abbreviated units',
      'a_ms non-histogram metrics should not have "le" label',
      'b_milliseconds_total non-counter metrics should not have "_total" suffix',
      'b_milliseconds_total use base unit "seconds" instead of "milliseconds"',
      `x:y_gauge_count metric name should not include type 'gauge'`,
      `x:y_gauge_count metric names should not contain ':'`,
      'x:y_gauge_count non-histogram and non-summary metrics should not have "_count" suffix',
    ]);
    expect(lintExposition(parseExposition(HISTOGRAM))).toEqual([]);
  });
});

import { expect, it } from 'vitest';
import { expose, type Family } from './exposition.ts';

function gauge(name: string, samples: Family['samples']): Family {
  return { name, help: `Help of ${name}.`, type: 'gauge', samples };
}

it('writes families by name and samples by labels, with times where they have one', () => {
  const text = expose([
    gauge('b', [{ labels: {}, value: 1 }]),
    gauge('a', [
      { labels: { pod: 'y', namespace: 'n' }, value: 2.5, timeMs: 1700000000123.7 },
      { labels: { pod: 'x', namespace: 'n' }, value: 0 },
    ]),
  ]);
  expect(text).toBe(
    [
      '# HELP a Help of a.',
      '# TYPE a gauge',
      'a{namespace="n",pod="x"} 0',
      'a{namespace="n",pod="y"} 2.5 1700000000124',
      '# HELP b Help of b.',
      '# TYPE b gauge',
      'b 1',
      '',
    ].join('\n'),
  );
});

it('escapes what would end a label or a line', () => {
  const text = expose([{ ...gauge('a', [{ labels: { l: 'a"b\\c\nd' }, value: 1 }]), help: 'back\\slash\nline' }]);
  expect(text).toContain('a{l="a\\"b\\\\c\\nd"} 1\n');
  expect(text).toContain('# HELP a back\\\\slash\\nline\n');
});

it('leaves out families without samples, numbers that are none, and a series that was there already', () => {
  const twice = gauge('a', [
    { labels: { l: 'x' }, value: 1 },
    { labels: { l: 'x' }, value: 2 },
    { labels: { l: 'y' }, value: Number.NaN },
  ]);
  expect(expose([gauge('empty', []), gauge('none', [{ labels: {}, value: Number.POSITIVE_INFINITY }])])).toBe('');
  expect(expose([twice])).toBe('# HELP a Help of a.\n# TYPE a gauge\na{l="x"} 1\n');
});

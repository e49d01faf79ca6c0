import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { REPOSITORY } from './paths.ts';
import { GRANTS, qualified } from './rbac.ts';

test('docs/operations.md lists the rights that the ServiceAccount of the tests has', () => {
  const page = readFileSync(join(REPOSITORY, 'docs/operations.md'), 'utf8');
  const [, table = ''] = page.split('| API group');
  const [, , ...rows] = (table.split('\n\n')[0] ?? '').split('\n'); // without the rest of the head, and the rule below it
  const listed = rows.flatMap((row) => {
    const [, group = '', resources = '', verbs = ''] = row.split('|').map((cell) => cell.trim());
    return [...resources.matchAll(/`([^`]+)`/g)].flatMap(([, resource = '']) =>
      verbs.split(', ').map((verb) => `${verb} ${qualified(resource, group === 'core' ? '' : group)}`),
    );
  });
  expect(listed.sort()).toEqual(GRANTS);
});

import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { REPOSITORY, readPage, withBlocks } from './document.ts';
import { PAGES } from './pages.ts';

const ALL_PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...readdirSync(join(REPOSITORY, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md'))
    .map((file) => `docs/${file}`),
];

describe.each(Object.entries(PAGES))('%s', (page, blocks) => {
  it('says what the code says (npm run docs brings it up to date)', async () => {
    const text = readPage(page);
    expect(text).toBe(withBlocks(text, await blocks()));
  });
});

describe.each(ALL_PAGES)('%s', (page) => {
  it('links to pages and files that are there', () => {
    const targets = [...readPage(page).matchAll(/\]\((?!\w+:)([^)#]+)(?:#[^)]*)?\)/g)].map(([, target = '']) => target);
    expect(targets.filter((target) => !existsSync(join(REPOSITORY, dirname(page), target)))).toEqual([]);
  });

  it('names npm scripts that are there', () => {
    const scripts = [...readPage(page).matchAll(/npm run ([\w:-]+)/g)].map(([, script = '']) => script);
    expect(scripts.filter((script) => !Object.hasOwn(packageJson.scripts, script))).toEqual([]);
  });
});

describe('a generated block', () => {
  it('is replaced between its two lines, and nothing else is', () => {
    const page = 'before\n<!-- generated x -->\nold\n<!-- end x -->\nafter';
    expect(withBlocks(page, { x: 'new' })).toBe('before\n<!-- generated x -->\n\nnew\n\n<!-- end x -->\nafter');
  });

  it('has to be there', () => {
    expect(() => withBlocks('a page', { x: 'new' })).toThrow('the page has no block x');
  });
});

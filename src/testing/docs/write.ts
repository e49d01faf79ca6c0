// `npm run docs`: brings the generated parts of the pages up to date. docs.test.ts fails while they are not.
import { readPage, withBlocks, writePage } from './document.ts';
import { PAGES } from './pages.ts';

for (const [page, blocks] of Object.entries(PAGES)) {
  const before = readPage(page);
  const after = withBlocks(before, await blocks());
  if (after !== before) writePage(page, after);
  process.stdout.write(`${page}: ${after === before ? 'was up to date' : 'written'}\n`);
}

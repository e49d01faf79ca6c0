import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const REPOSITORY = join(import.meta.dirname, '../../..');

/** What a page takes from the code, by the name of its block. */
export type Blocks = Readonly<Record<string, string>>;

export function readPage(page: string): string {
  return readFileSync(join(REPOSITORY, page), 'utf8');
}

export function writePage(page: string, text: string): void {
  writeFileSync(join(REPOSITORY, page), text);
}

/** The page with every block between `<!-- generated NAME -->` and `<!-- end NAME -->` replaced. Both lines have to be there. */
export function withBlocks(text: string, blocks: Blocks): string {
  return Object.entries(blocks).reduce((page, [name, content]) => {
    const begin = `<!-- generated ${name} -->\n`;
    const end = `<!-- end ${name} -->`;
    const from = page.indexOf(begin);
    const to = page.indexOf(end);
    if (from < 0 || to < from) throw new Error(`the page has no block ${name}`);
    return `${page.slice(0, from + begin.length)}\n${content}\n\n${page.slice(to)}`;
  }, text);
}

/** In the form in which the formatter leaves it: columns as wide as their widest cell. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [header, ...rows].map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  const widths = header.map((_, column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${widths.map((width, column) => (row[column] ?? '').padEnd(width)).join(' | ')} |`;
  const [head = [], ...body] = cells;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n');
}

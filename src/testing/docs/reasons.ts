import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { REPOSITORY } from './document.ts';

/** What is looked through for reasons. */
const CORE = ['src'];
const BACKENDS = ['providers/docker', 'providers/engine', 'providers/shared'];

export interface Texts {
  /** CamelCase words that stand where a value is given, and where they were found. */
  readonly words: ReadonlyMap<string, string>;
  /** CamelCase words behind `reason:`, wherever. */
  readonly reasons: ReadonlyMap<string, string>;
  /** Every fixed text, for looking up parts of messages. */
  readonly all: string;
}

export function coreTexts(): Texts {
  return read(CORE);
}

export function backendTexts(): Texts {
  return read(BACKENDS);
}

function read(folders: readonly string[]): Texts {
  const words = new Map<string, string>();
  const reasons = new Map<string, string>();
  const all: string[] = [];
  for (const file of folders.flatMap(sources)) {
    for (const { text, node } of literals(file)) {
      all.push(text);
      if (!WORD.test(text)) continue;
      if (isGiven(node)) words.set(text, file);
      if (isReason(node)) reasons.set(text, file);
    }
  }
  return { words, reasons, all: all.join('\n') };
}

/** Letters only, the first a capital, not all of them: what Kubernetes takes for a reason, and much else. */
const WORD = /^[A-Z][A-Za-z]*[a-z][A-Za-z]*$/;

function sources(folder: string): string[] {
  return readdirSync(join(REPOSITORY, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts') && !/(^|\/)testing\//.test(file))
    .map((file) => `${folder}/${file}`);
}

interface Literal {
  readonly text: string;
  readonly node: ts.Node;
}

function literals(file: string): readonly Literal[] {
  const text = readFileSync(join(REPOSITORY, file), 'utf8');
  const found: Literal[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) {
      found.push({ text: node.text, node });
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true));
  return found;
}

/** Fields of API objects and of ours whose values are of other vocabularies. */
const OTHER_FIELDS: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'type', 'name', 'phase', 'status', 'effect']);

/** Not in a type, not compared with (unless it is a reason that is compared), not in a field of another vocabulary. */
function isGiven({ parent }: ts.Node): boolean {
  if (ts.isLiteralTypeNode(parent) || ts.isCaseClause(parent)) return false;
  if (ts.isPropertyAssignment(parent) || ts.isPropertyDeclaration(parent)) {
    return !OTHER_FIELDS.has(parent.name.getText());
  }
  if (ts.isCallExpression(parent)) return parent.expression.getText() !== 'isProviderError';
  if (!ts.isBinaryExpression(parent)) return true;
  const compares = /^[!=]==$/.test(parent.operatorToken.getText());
  return !compares || /reason$/i.test(parent.left.getText());
}

function isReason({ parent }: ts.Node): boolean {
  for (let node = parent; node !== undefined; node = node.parent) {
    if (ts.isPropertyAssignment(node)) return node.name.getText() === 'reason';
    if (!ts.isConditionalExpression(node) && !ts.isParenthesizedExpression(node)) return false;
  }
  return false;
}

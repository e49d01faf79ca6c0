import { parseAllDocuments } from 'yaml';
import { errorMessage, UsageError } from '../util/errors.ts';
import { fieldPath, type Naming, show, usageError } from './complaints.ts';
import { UNSUPPORTED_KUBELET_FIELDS } from './kubelet-fields.ts';
import { type KubeletDocument, kubeletSchema, type OutriggerDocument, outriggerSchema } from './schema.ts';

export interface ConfigDocuments {
  readonly kubelet: KubeletDocument;
  readonly outrigger?: OutriggerDocument;
}

const API_VERSIONS: Readonly<Record<string, string>> = {
  KubeletConfiguration: 'kubelet.config.k8s.io/v1beta1',
  OutriggerConfiguration: 'outrigger.dev/v1alpha1',
};

/** Reads the YAML (or JSON) of --config: at most one document of each kind, at least one at all. `file` is for messages. */
export function parseConfigDocuments(file: string, content: string): ConfigDocuments {
  const found = new Map<string, unknown>();
  parseYamlDocuments(file, content).forEach((document, index) => {
    const { kind, body } = splitDocument(`${file}: document ${index + 1}`, document);
    if (found.has(kind)) throw new UsageError(`${file}: two documents of kind ${kind}`);
    found.set(kind, body);
  });
  if (found.size === 0) throw new UsageError(`${file}: is empty`);
  const kubelet = found.get('KubeletConfiguration') ?? {};
  const parsedKubelet = kubeletSchema.safeParse(kubelet);
  if (!parsedKubelet.success) {
    throw usageError(parsedKubelet.error, kubelet, naming('KubeletConfiguration', kubeletKey), `${file}: `);
  }
  const outrigger = found.get('OutriggerConfiguration');
  if (outrigger === undefined) return { kubelet: parsedKubelet.data };
  const parsedOutrigger = outriggerSchema.safeParse(outrigger);
  if (!parsedOutrigger.success) {
    throw usageError(
      parsedOutrigger.error,
      outrigger,
      naming('OutriggerConfiguration', () => 'unknown field'),
      `${file}: `,
    );
  }
  return { kubelet: parsedKubelet.data, outrigger: parsedOutrigger.data };
}

/** The file behind --provider-config: one mapping, checked later by the provider itself. */
export function parseProviderConfig(file: string, content: string): Record<string, unknown> {
  const [document, ...rest] = parseYamlDocuments(file, content);
  if (rest.length > 0) throw new UsageError(`${file}: more than one document`);
  if (document === undefined) return {};
  if (!isMapping(document)) throw new UsageError(`${file}: ${show(document)} must be a mapping`);
  return document;
}

function naming(kind: string, unknownKey: Naming['unknownKey']): Naming {
  return { nameOf: (path) => fieldPath([kind, ...path]), unknownKey };
}

function kubeletKey(path: readonly PropertyKey[]): string {
  return UNSUPPORTED_KUBELET_FIELDS.has(fieldPath(path)) ? 'not supported yet' : 'unknown field';
}

function parseYamlDocuments(file: string, content: string): unknown[] {
  const documents = parseAllDocuments(content);
  const values: unknown[] = [];
  for (const document of documents) {
    const [error] = document.errors;
    if (error !== undefined) {
      const [summary = 'cannot be parsed'] = error.message.split('\n');
      throw new UsageError(`${file}: ${summary.replace(/:$/, '')}`);
    }
    const value = contentOf(file, document);
    // An empty document is what a leading or trailing "---" leaves.
    if (value !== null && value !== undefined) values.push(value);
  }
  return values;
}

/** The parser refuses aliases that would grow beyond all measure only here. */
function contentOf(file: string, document: { toJS(): unknown }): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw new UsageError(`${file}: ${errorMessage(error)}`, { cause: error });
  }
}

function splitDocument(place: string, document: unknown): { kind: string; body: Record<string, unknown> } {
  if (!isMapping(document)) throw new UsageError(`${place}: ${show(document)} must be a mapping`);
  const { apiVersion, kind, ...body } = document;
  const expected = typeof kind === 'string' ? API_VERSIONS[kind] : undefined;
  if (typeof kind !== 'string' || expected === undefined) {
    throw new UsageError(
      `${place}: kind: ${show(kind ?? null)} must be one of ${Object.keys(API_VERSIONS).join(', ')}`,
    );
  }
  if (apiVersion !== expected) {
    throw new UsageError(`${place}: apiVersion: ${show(apiVersion ?? null)} must be ${expected} for a ${kind}`);
  }
  return { kind, body };
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

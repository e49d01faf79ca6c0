import type { ConfigMap, Secret } from '../model/pod.ts';
import type { Payload, PayloadFile } from './payload.ts';

interface KeyToPath {
  readonly key: string;
  readonly path: string;
  readonly mode?: number;
}

/** Which keys of an object become files. */
export interface KeySelection {
  /** Empty: every key under its own name. */
  readonly items: readonly KeyToPath[];
  /** Missing keys are left out instead of an error. */
  readonly optional: boolean;
  readonly defaultMode: number;
}

/** Files of a ConfigMap, text and binary keys alike (configmap.MakePayload, reference 9.3). */
export function configMapPayload(
  { data = {}, binaryData = {} }: Pick<ConfigMap, 'data' | 'binaryData'>,
  selection: KeySelection,
): Payload {
  const content = new Map([...fromBase64(binaryData), ...fromText(data)]);
  return select(content, selection, (key) => `configmap references non-existent config key: ${key}`);
}

/** Files of a Secret (secret.MakePayload, reference 9.3). */
export function secretPayload({ data = {} }: Pick<Secret, 'data'>, selection: KeySelection): Payload {
  return select(new Map(fromBase64(data)), selection, (key) => `references non-existent secret key: ${key}`);
}

function select(
  content: ReadonlyMap<string, Uint8Array>,
  { items, optional, defaultMode }: KeySelection,
  missing: (key: string) => string,
): Payload {
  const wanted: readonly KeyToPath[] =
    items.length > 0 ? items : [...content.keys()].map((key) => ({ key, path: key }));
  const payload = new Map<string, PayloadFile>();
  for (const { key, path, mode = defaultMode } of wanted) {
    const data = content.get(key);
    if (data !== undefined) payload.set(path, { mode, data });
    else if (!optional) throw new Error(missing(key));
  }
  return payload;
}

function fromText(data: Readonly<Record<string, string>>): [string, Uint8Array][] {
  return Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'utf8')]);
}

function fromBase64(data: Readonly<Record<string, string>>): [string, Uint8Array][] {
  return Object.entries(data).map(([key, text]) => [key, Buffer.from(text, 'base64')]);
}

import type { ConfigMap } from '../model/pod.ts';
import type { Payload, PayloadFile } from './payload.ts';

interface KeyToPath {
  readonly key: string;
  readonly path: string;
  readonly mode?: number;
}

export interface ConfigMapSelection {
  /** Empty: every key under its own name. */
  readonly items: readonly KeyToPath[];
  /** Missing keys are left out instead of an error. */
  readonly optional: boolean;
  readonly defaultMode: number;
}

/** Files of a ConfigMap, text and binary keys alike (configmap.MakePayload, reference 9.3). */
export function configMapPayload(
  { data = {}, binaryData = {} }: Pick<ConfigMap, 'data' | 'binaryData'>,
  { items, optional, defaultMode }: ConfigMapSelection,
): Payload {
  const read = (key: string): Uint8Array | undefined => {
    const [text, binary] = [data[key], binaryData[key]];
    if (text !== undefined) return Buffer.from(text, 'utf8');
    return binary === undefined ? undefined : Buffer.from(binary, 'base64');
  };
  const wanted: readonly KeyToPath[] =
    items.length > 0 ? items : [...Object.keys(data), ...Object.keys(binaryData)].map((key) => ({ key, path: key }));
  const payload = new Map<string, PayloadFile>();
  for (const { key, path, mode = defaultMode } of wanted) {
    const content = read(key);
    if (content !== undefined) payload.set(path, { mode, data: content });
    else if (!optional) throw new Error(`configmap references non-existent config key: ${key}`);
  }
  return payload;
}

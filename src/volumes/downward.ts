import type { Pod } from '../model/pod.ts';
import { metadataField } from '../spec/field-path.ts';
import type { Payload, PayloadFile } from './payload.ts';

export interface DownwardItem {
  readonly path: string;
  readonly mode?: number;
  readonly fieldRef?: { readonly fieldPath: string };
}

/** Files from the pod's own metadata; labels and annotations follow their changes (reference 9.4). */
export function downwardPayload(pod: Pod, items: readonly DownwardItem[], defaultMode: number): Payload {
  const payload = new Map<string, PayloadFile>();
  for (const { path, mode = defaultMode, fieldRef } of items) {
    // Admission refuses resourceFieldRef for now (spec/unsupported.ts).
    const text = fieldRef === undefined ? undefined : metadataField(pod, fieldRef.fieldPath);
    if (text === undefined) throw new Error(`unsupported fieldPath: ${fieldRef?.fieldPath ?? path}`);
    payload.set(path, { mode, data: Buffer.from(text, 'utf8') });
  }
  return payload;
}

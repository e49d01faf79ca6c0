import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { Scene } from './scene.ts';

/** A file for --config with some fields of KubeletConfiguration, and further documents. */
export function kubeletConfig(
  { bed }: Pick<Scene, 'bed'>,
  name: string,
  fields: object,
  ...documents: readonly object[]
): string {
  const kubelet = { apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration', ...fields };
  const folder = bed.folder('configs');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}.yaml`);
  writeFileSync(file, [kubelet, ...documents].map((document) => stringify(document)).join('---\n'));
  return file;
}

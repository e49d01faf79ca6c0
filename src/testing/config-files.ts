import type { Config, NodeConfig } from '../config/config.ts';
import { loadConfig } from '../config/load.ts';
import { UsageError } from '../util/errors.ts';

/** There whatever a test gives: what flags may name. */
const FILES: Readonly<Record<string, string>> = { '/etc/o/kube.conf': '', '/etc/o/tls.crt': '', '/etc/o/tls.key': '' };

/**
 * The configuration of these flags (names without dashes) and files, with a self-signed serving certificate where no other is asked
 * for, in the folder `/etc/o` of the machine `Box.Example`.
 */
export function load(flags: Record<string, string>, files: Record<string, string> = {}): Promise<Config> {
  const all: Readonly<Record<string, string>> = { ...FILES, ...files };
  return loadConfig(
    { 'self-signed-serving-certificate': 'true', ...flags },
    {
      cwd: '/etc/o',
      hostname: 'Box.Example ',
      readFile: async (path) => {
        const content = all[path];
        if (content === undefined) throw new Error(`ENOENT: no such file or directory, open '${path}'`);
        return content;
      },
    },
  );
}

/** The one line with which they are refused. */
export async function complaint(flags: Record<string, string>, files: Record<string, string> = {}): Promise<string> {
  const error: unknown = await load(flags, files).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof UsageError)) throw new Error('expected a usage error', { cause: error });
  if (error.message.includes('\n')) throw new Error('expected one line', { cause: error });
  return error.message;
}

export async function onlyNode(flags: Record<string, string>, files: Record<string, string> = {}): Promise<NodeConfig> {
  const { nodes } = await load(flags, files);
  const [node] = nodes;
  if (node === undefined || nodes.length !== 1) throw new Error('expected one node');
  return node;
}

export function kubeletFile(fields: string): Record<string, string> {
  return { '/etc/o/c.yaml': `apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n${fields}\n` };
}

export function outriggerFile(fields: string): Record<string, string> {
  return { '/etc/o/c.yaml': `apiVersion: outrigger.dev/v1alpha1\nkind: OutriggerConfiguration\n${fields}\n` };
}

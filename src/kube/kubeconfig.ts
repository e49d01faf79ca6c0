import { accessSync, constants, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { parse } from 'yaml';
import { z } from 'zod';
import { errorMessage, UsageError } from '../util/errors.ts';

export interface KubeConfigSource {
  /** Without a file: the service account of the pod that this process runs in. */
  readonly file?: string;
  readonly context?: string;
  /** What to call the file in complaints. */
  readonly flag?: string;
}

/** Only what is rewritten before client-node reads it; everything else passes through. */
const FileSchema = z.looseObject({
  users: z
    .array(
      z.looseObject({
        user: z.looseObject({ tokenFile: z.string().optional(), 'token-file': z.string().optional() }).nullish(),
      }),
    )
    .nullish(),
});

/** Throws UsageError, with the flag and its value in the message. */
export function loadKubeConfig({ file, context, flag = '--kubeconfig' }: KubeConfigSource): KubeConfig {
  return file === undefined ? loadInCluster() : loadFile(file, context, flag);
}

function loadFile(file: string, context: string | undefined, flag: string): KubeConfig {
  const config = new KubeConfig();
  try {
    config.loadFromString(JSON.stringify(withRotatingTokens(readFileSync(file, 'utf8'), dirname(file))));
    config.makePathsAbsolute(resolve(dirname(file)));
  } catch (error) {
    // Parsers append the offending lines of the file; one line is what a user gets.
    const [line] = errorMessage(error).split('\n');
    throw new UsageError(`${flag} ${file}: ${line}`, { cause: error });
  }
  if (context !== undefined) config.setCurrentContext(context);
  const name = config.getCurrentContext();
  const known = config.getContexts().map((entry) => entry.name);
  if (!known.includes(name)) {
    throw new UsageError(
      context === undefined
        ? `${flag} ${file}: current-context ${name ? `"${name}" is not in the file` : 'is not set'}`
        : `--context ${context}: not in ${file} (it has: ${known.join(', ')})`,
    );
  }
  checkContext(config, `${flag} ${file}`, name);
  return config;
}

/** The library reads `token-file` once at load and does not know `tokenFile` (kubectl's name): its FileAuth re-reads the file. */
function withRotatingTokens(text: string, directory: string): unknown {
  const parsed = FileSchema.safeParse(parse(text));
  if (!parsed.success) throw new Error(`not a kubeconfig: ${z.prettifyError(parsed.error).replaceAll('\n', ' ')}`);
  const { users, ...rest } = parsed.data;
  return {
    ...rest,
    users: (users ?? []).map((entry) => {
      const { tokenFile, 'token-file': dashed, ...user } = entry.user ?? {};
      const path = tokenFile ?? dashed;
      if (path === undefined) return { ...entry, user };
      const config = { tokenFile: resolve(directory, path) };
      return { ...entry, user: { ...user, 'auth-provider': { name: 'tokenFile', config } } };
    }),
  };
}

/** `place` is the flag and the file. */
function checkContext(config: KubeConfig, place: string, name: string): void {
  const cluster = config.getCurrentCluster();
  const user = config.getCurrentUser();
  const broken = (what: string) => new UsageError(`${place}: context "${name}": ${what}`);
  if (cluster === null) throw broken('its cluster is not in the file');
  if (user === null) throw broken('its user is not in the file');
  if (!/^https?:\/\//.test(cluster.server)) throw broken(`server "${cluster.server}" is not an http(s) URL`);
  // The client refuses it at its first use, which would look like an API server that is away.
  if (cluster.server.startsWith('http:') && cluster.skipTLSVerify !== true)
    throw broken(`server "${cluster.server}" is plain http, which needs insecure-skip-tls-verify: true`);
  for (const path of [cluster.caFile, user.certFile, user.keyFile]) {
    if (path === undefined || path === null) continue;
    try {
      accessSync(path, constants.R_OK);
    } catch (error) {
      throw broken(errorMessage(error));
    }
  }
}

function loadInCluster(): KubeConfig {
  const config = new KubeConfig();
  config.loadFromCluster();
  const cluster = config.getCurrentCluster();
  const ca = cluster?.caFile;
  try {
    if (cluster === null || ca === undefined || cluster.server.includes('undefined')) {
      throw new Error('KUBERNETES_SERVICE_HOST is not set');
    }
    accessSync(ca, constants.R_OK);
  } catch (error) {
    throw new UsageError(
      `--kubeconfig is not set, and this process does not run inside a cluster: ${errorMessage(error)}`,
      { cause: error },
    );
  }
  return config;
}

import { z } from 'zod';
import type { RegistryAuth } from '../../providers/contract/index.ts';
import type { Secret } from '../model/pod.ts';
import { globMatches } from './glob.ts';
import { type ImageReference, repositoryName } from './reference.ts';

/** A pull secret whose content cannot be read; the pull fails with this text instead of going on without credentials. */
export class PullSecretError extends Error {
  override readonly name = 'PullSecretError';
}

interface Login {
  readonly username: string;
  readonly password: string;
}

/** Logins by registry key (`host[:port][/path]`), most specific key first. */
export type Keyring = readonly (readonly [key: string, logins: readonly Login[]])[];

const Entry = z.object({
  username: z.string().optional(),
  password: z.string().optional(),
  auth: z.string().optional(),
});
const DockerConfig = z.record(z.string(), Entry);
const DockerConfigJson = z.object({ auths: DockerConfig.nullish() });

const BASE64 = /^[A-Za-z0-9+/\r\n]+={0,2}[\r\n]*$/;
const DEFAULT_REGISTRY_KEY = 'index.docker.io';

/**
 * The logins of a pod's pull secrets (kubelet: pkg/credentialprovider). Secrets of another type, or without the key that their
 * type asks for, count as empty. Keys are sorted backwards, so that `quay.io/team` comes before `quay.io`.
 */
export function makeKeyring(secrets: readonly Secret[]): Keyring {
  const keys = new Map<string, Login[]>();
  for (const secret of secrets) {
    for (const [location, entry] of Object.entries(dockerConfig(secret))) {
      const key = registryKey(location);
      keys.set(key, [...(keys.get(key) ?? []), login(secret, entry)]);
    }
  }
  return [...keys].sort(([a], [b]) => (a < b ? 1 : a > b ? -1 : 0));
}

/** What to try for this image, in this order; several are possible while a password is being rotated. */
export function credentialsFor(keyring: Keyring, image: ImageReference): readonly RegistryAuth[] {
  const name = repositoryName(image);
  const matching = keyring.filter(([key]) => keyMatches(key, name));
  const fallback =
    matching.length === 0 && isDefaultRegistry(image) ? keyring.filter(([key]) => key === DEFAULT_REGISTRY_KEY) : [];
  return [...matching, ...fallback].flatMap(([, logins]) =>
    logins
      // An entry that names nobody (`{"auths":{"x.io":{}}}`, left behind by a credential helper) is no login.
      .filter(({ username, password }) => username !== '' || password !== '')
      .map((login) => ({ registry: image.domain, ...login })),
  );
}

function dockerConfig(secret: Secret): z.infer<typeof DockerConfig> {
  if (secret.type === 'kubernetes.io/dockerconfigjson') {
    return parse(secret, '.dockerconfigjson', DockerConfigJson)?.auths ?? {};
  }
  if (secret.type === 'kubernetes.io/dockercfg') return parse(secret, '.dockercfg', DockerConfig) ?? {};
  return {};
}

function parse<T>(secret: Secret, key: string, schema: z.ZodType<T>): T | undefined {
  const encoded = secret.data?.[key] ?? '';
  if (encoded === '') return undefined;
  try {
    return schema.parse(JSON.parse(Buffer.from(encoded, 'base64').toString('utf8')));
  } catch (error) {
    // The parser's own message may quote the content, which is secret.
    throw new PullSecretError(`pull secret "${secret.metadata.name}": ${key} is not a Docker configuration`, {
      cause: error instanceof SyntaxError ? undefined : error,
    });
  }
}

function login(secret: Secret, { username = '', password = '', auth = '' }: z.infer<typeof Entry>): Login {
  if (auth === '') return { username, password };
  const decoded = BASE64.test(auth.trim()) ? Buffer.from(auth, 'base64').toString('utf8') : '';
  const colon = decoded.indexOf(':');
  if (colon < 0) {
    throw new PullSecretError(
      `pull secret "${secret.metadata.name}": unable to parse auth field, must be formatted as base64(username:password)`,
    );
  }
  return { username: decoded.slice(0, colon), password: decoded.slice(colon + 1) };
}

/** Scheme dropped; `/v1/` and `/v2/` are Docker's way to write the host itself. */
function registryKey(location: string): string {
  const [host, path] = splitAtSlash(location.replace(/^https?:\/\//, ''));
  const effective = /^\/v[12]\//.test(path) ? path.slice(3) : path;
  return effective === '/' ? host : host + effective;
}

function splitAtSlash(text: string): [host: string, path: string] {
  const slash = text.indexOf('/');
  return slash < 0 ? [text, ''] : [text.slice(0, slash), text.slice(slash)];
}

/** Same port, same number of host labels, each label matching the key's glob, and the key's path a prefix. */
function keyMatches(key: string, name: string): boolean {
  const [keyHost, keyPath] = splitAtSlash(key);
  const [host, path] = splitAtSlash(name);
  const [keyLabels, keyPort] = splitHost(keyHost);
  const [labels, port] = splitHost(host);
  return (
    keyPort === port &&
    keyLabels.length === labels.length &&
    path.startsWith(keyPath) &&
    keyLabels.every((glob, index) => globMatches(glob, labels[index] ?? ''))
  );
}

function splitHost(host: string): [labels: readonly string[], port: string] {
  const [, name = host, port = ''] = /^(.*):([0-9]*)$/.exec(host) ?? [];
  return [name.split('.'), port];
}

/** A domain without dot or port is still Docker Hub's to the keyring, as in the kubelet. */
function isDefaultRegistry({ domain }: ImageReference): boolean {
  return domain === 'docker.io' || !/[.:]/.test(domain);
}

import type { RegistryAuth } from '../contract/index.ts';

export interface ImageReference {
  /** As the engine wants it, without tag or digest. */
  readonly repository: string;
  /** Tag or digest; "latest" where the name has neither. */
  readonly tag: string;
  /** Host (and port) of the registry, "docker.io" where the name has none. */
  readonly registry: string;
  /** Repository with the registry in front. */
  readonly path: string;
}

export function parseImageReference(image: string): ImageReference {
  const at = image.indexOf('@');
  const name = at < 0 ? image : image.slice(0, at);
  const colon = name.lastIndexOf(':');
  const tagged = colon > name.lastIndexOf('/');
  const repository = tagged ? name.slice(0, colon) : name;
  const tag = at >= 0 ? image.slice(at + 1) : tagged ? name.slice(colon + 1) : 'latest';
  const first = repository.split('/')[0] ?? '';
  const hasRegistry = repository.includes('/') && (/[.:]/.test(first) || first === 'localhost');
  const registry = hasRegistry ? canonicalHost(first) : 'docker.io';
  const rest = hasRegistry ? repository.slice(first.length + 1) : repository;
  const path = `${registry}/${registry === 'docker.io' && !rest.includes('/') ? `library/${rest}` : rest}`;
  return { repository, tag, registry, path };
}

/** The credentials that are meant for this image: same registry, and the path (if they name one) above the image's. */
export function authsFor(image: string, auths: readonly RegistryAuth[]): readonly RegistryAuth[] {
  const { registry, path } = parseImageReference(image);
  return auths.filter((auth) => {
    const [host = '', ...segments] = bareRegistry(auth.registry).split('/');
    if (!hostMatches(canonicalHost(host), registry)) return false;
    const prefix = segments.join('/');
    const own = path.slice(registry.length + 1);
    return prefix === '' || own === prefix || own.startsWith(`${prefix}/`);
  });
}

/** "https://index.docker.io/v1/" is how docker login writes it. */
function bareRegistry(registry: string): string {
  return registry
    .replace(/^https?:\/\//, '')
    .replace(/\/v[12]\/?$/, '')
    .replace(/\/$/, '');
}

function canonicalHost(host: string): string {
  return host === 'index.docker.io' || host === 'registry-1.docker.io' ? 'docker.io' : host;
}

/** "*" stands for one label of the host name. */
function hostMatches(pattern: string, host: string): boolean {
  const wanted = pattern.split('.');
  const given = host.split('.');
  return wanted.length === given.length && wanted.every((label, index) => label === '*' || label === given[index]);
}

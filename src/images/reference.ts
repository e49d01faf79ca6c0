import { goQuote } from '../util/go-quote.ts';

/**
 * Image references as the distribution project's grammar has them (github.com/distribution/reference v0.6.0, which the kubelet
 * uses); its error texts are part of the pod's status (reference 1.5, 3.3).
 */
export interface ImageReference {
  /** Registry host, with port if any; `docker.io` when the text names none. */
  readonly domain: string;
  /** Repository below the registry; `library/` is put in front of Docker Hub's one-word names. */
  readonly path: string;
  readonly tag?: string;
  readonly digest?: string;
}

export class InvalidReference extends Error {
  override readonly name = 'InvalidReference';
}

const DEFAULT_DOMAIN = 'docker.io';
const LEGACY_DEFAULT_DOMAIN = 'index.docker.io';
const OFFICIAL_PREFIX = 'library/';
const MAX_PATH_LENGTH = 255;

const ALPHANUMERIC = '[a-z0-9]+';
const SEPARATOR = '(?:[._]|__|[-]+)';
const PATH_COMPONENT = `${ALPHANUMERIC}(?:${SEPARATOR}${ALPHANUMERIC})*`;
const REMOTE_NAME = `${PATH_COMPONENT}(?:/${PATH_COMPONENT})*`;
const DOMAIN_COMPONENT = '(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])';
const IPV6 = '\\[(?:[a-fA-F0-9:]+)\\]';
const DOMAIN = `(?:${DOMAIN_COMPONENT}(?:\\.${DOMAIN_COMPONENT})*|${IPV6})(?::[0-9]+)?`;
const TAG = '[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}';
const DIGEST = '[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}';
/** The domain is never absent here: `splitDomain` has put one in front. */
const REFERENCE = new RegExp(`^(${DOMAIN})/(${REMOTE_NAME})(?::(${TAG}))?(?:@(${DIGEST}))?$`);
const IDENTIFIER = /^[a-f0-9]{64}$/;
const DIGEST_HEX_LENGTH: Readonly<Record<string, number>> = { sha256: 64, sha384: 96, sha512: 128 };

/** Throws InvalidReference with the library's words. */
export function parseReference(text: string): ImageReference {
  if (IDENTIFIER.test(text)) {
    throw new InvalidReference(`invalid repository name (${text}), cannot specify 64-byte hexadecimal strings`);
  }
  const [domainPart, remainder] = splitDomain(text);
  const colon = remainder.indexOf(':');
  const remote = colon < 0 ? remainder : remainder.slice(0, colon);
  if (remote.toLowerCase() !== remote) {
    throw new InvalidReference(`invalid reference format: repository name (${remote}) must be lowercase`);
  }
  const full = `${domainPart}/${remainder}`;
  const [, domain, path, tag, digest] = REFERENCE.exec(full) ?? [];
  if (domain === undefined || path === undefined) {
    throw new InvalidReference(
      REFERENCE.test(full.toLowerCase()) ? 'repository name must be lowercase' : 'invalid reference format',
    );
  }
  if (path.length > MAX_PATH_LENGTH) {
    throw new InvalidReference(`repository name must not be more than ${MAX_PATH_LENGTH} characters`);
  }
  if (digest !== undefined) checkDigest(digest);
  return { domain, path, ...(tag === undefined ? {} : { tag }), ...(digest === undefined ? {} : { digest }) };
}

/** `domain/path`, what credentials are looked up by. */
export function repositoryName({ domain, path }: ImageReference): string {
  return `${domain}/${path}`;
}

export function formatReference(reference: ImageReference): string {
  const tag = reference.tag === undefined ? '' : `:${reference.tag}`;
  const digest = reference.digest === undefined ? '' : `@${reference.digest}`;
  return `${repositoryName(reference)}${tag}${digest}`;
}

/**
 * What the backend is asked for: the text as written, with `:latest` when it names neither tag nor digest. Not the normalised
 * form: which registry a short name means is the backend's own affair. Throws InvalidReference as the kubelet words it.
 */
export function withDefaultTag(image: string): string {
  const { tag, digest } = parseImageName(image);
  return tag === undefined && digest === undefined ? `${image}:latest` : image;
}

function parseImageName(image: string): ImageReference {
  try {
    return parseReference(image);
  } catch (error) {
    if (!(error instanceof InvalidReference)) throw error;
    throw new InvalidReference(
      `Failed to apply default image tag ${goQuote(image)}: couldn't parse image name ${goQuote(image)}: ${error.message}`,
      { cause: error },
    );
  }
}

/** A first component is a registry when it looks like a host: `localhost`, a dot, a port, or a capital letter. */
function splitDomain(text: string): [domain: string, remainder: string] {
  const slash = text.indexOf('/');
  if (slash < 0) return [DEFAULT_DOMAIN, OFFICIAL_PREFIX + text];
  const first = text.slice(0, slash);
  const isDomain = first === 'localhost' || /[.:]/.test(first) || first.toLowerCase() !== first;
  const domain = !isDomain || first === LEGACY_DEFAULT_DOMAIN ? DEFAULT_DOMAIN : first;
  const remainder = isDomain ? text.slice(slash + 1) : text;
  return domain === DEFAULT_DOMAIN && !remainder.includes('/')
    ? [domain, OFFICIAL_PREFIX + remainder]
    : [domain, remainder];
}

function checkDigest(digest: string): void {
  const colon = digest.indexOf(':');
  const length = DIGEST_HEX_LENGTH[digest.slice(0, colon)];
  const hex = digest.slice(colon + 1);
  if (length === undefined) throw new InvalidReference('unsupported digest algorithm');
  if (hex.length !== length) throw new InvalidReference('invalid checksum digest length');
  if (!/^[a-f0-9]+$/.test(hex)) throw new InvalidReference('invalid checksum digest format');
}

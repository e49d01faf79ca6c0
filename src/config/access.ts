import { UsageError } from '../util/errors.ts';
import type { AccessConfig } from './config.ts';
import type { Flags } from './flags.ts';
import type { KubeletDocument } from './schema.ts';

/**
 * Who is let in at the kubelet API. With or without a file, the defaults are those of a kubelet with a file (reference 11.12). A
 * configuration that lets in whoever comes is refused, unless the command line says so in so many words.
 */
export function buildAccess(kubelet: KubeletDocument, flags: Flags): AccessConfig {
  const { anonymous, webhook, x509 } = kubelet.authentication ?? {};
  const { mode = 'Webhook', webhook: ttl } = kubelet.authorization ?? {};
  const config: AccessConfig = {
    anonymous: anonymous?.enabled ?? false,
    tokens: { enabled: webhook?.enabled ?? true, cacheMs: webhook?.cacheTTL ?? 120_000 },
    authorization: {
      mode,
      allowedMs: ttl?.cacheAuthorizedTTL ?? 300_000,
      deniedMs: ttl?.cacheUnauthorizedTTL ?? 30_000,
    },
  };
  refuseOpen(config, flags);
  if (!config.anonymous && !config.tokens.enabled && (x509?.clientCAFile ?? '') === '') {
    throw new UsageError(
      'authentication.webhook.enabled (--authentication-token-webhook): false leaves no way to log in; give authentication.x509.clientCAFile (--client-ca-file)',
    );
  }
  return config;
}

function refuseOpen({ anonymous, authorization }: AccessConfig, flags: Flags): void {
  if (authorization.mode !== 'AlwaysAllow' || flags['allow-open-kubelet-api'] === true) return;
  const who = anonymous ? 'everybody who reaches the port, without credentials' : 'every user of the cluster';
  throw new UsageError(
    `authorization.mode (--authorization-mode): AlwaysAllow lets ${who}, run commands in all pods of this node; say --allow-open-kubelet-api if that is meant`,
  );
}

/** The flags of this part, as the fields that they replace. */
export function accessFields(
  kubelet: KubeletDocument,
  flags: Flags,
): Pick<KubeletDocument, 'authentication' | 'authorization'> {
  const { authentication = {}, authorization = {} } = kubelet;
  const anonymous = flags['anonymous-auth'] ?? authentication.anonymous?.enabled;
  const tokens = flags['authentication-token-webhook'] ?? authentication.webhook?.enabled;
  const cacheTTL = flags['authentication-token-webhook-cache-ttl'] ?? authentication.webhook?.cacheTTL;
  const mode = flags['authorization-mode'] ?? authorization.mode;
  const allowed = flags['authorization-webhook-cache-authorized-ttl'] ?? authorization.webhook?.cacheAuthorizedTTL;
  const denied = flags['authorization-webhook-cache-unauthorized-ttl'] ?? authorization.webhook?.cacheUnauthorizedTTL;
  return {
    authentication: {
      ...authentication,
      anonymous: { enabled: anonymous },
      webhook: { enabled: tokens, cacheTTL },
    },
    authorization: { mode, webhook: { cacheAuthorizedTTL: allowed, cacheUnauthorizedTTL: denied } },
  };
}

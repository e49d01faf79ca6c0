import { describe, expect, it } from 'vitest';
import { complaint, kubeletFile, load, onlyNode } from '../testing/config-files.ts';

describe('a kubelet API that would be open', () => {
  const CONFIG = { config: 'c.yaml' };
  const OPEN = kubeletFile('authorization: {mode: AlwaysAllow}\nauthentication: {anonymous: {enabled: true}}');

  it('is refused, whether a file or a flag asks for it, with words on what that would mean', async () => {
    expect(await complaint(CONFIG, OPEN)).toBe(
      'authorization.mode (--authorization-mode): AlwaysAllow lets everybody who reaches the port, without credentials, run commands in all pods of this node; say --allow-open-kubelet-api if that is meant',
    );
    expect(await complaint({ 'authorization-mode': 'AlwaysAllow' })).toContain('every user of the cluster');
    expect(await complaint({ ...CONFIG, 'allow-open-kubelet-api': 'false' }, OPEN)).toContain('AlwaysAllow');
  });

  it('is started when the command line says so; a file cannot', async () => {
    const { access } = await load({ ...CONFIG, 'allow-open-kubelet-api': 'true' }, OPEN);
    expect(access).toMatchObject({ anonymous: true, authorization: { mode: 'AlwaysAllow' } });
    expect(await complaint(CONFIG, kubeletFile('allowOpenKubeletAPI: true'))).toContain('allowOpenKubeletAPI');
  });

  it('that words alone allow is not open', async () => {
    const { access } = await load({ 'allow-open-kubelet-api': 'true' });
    expect(access).toMatchObject({ anonymous: false, authorization: { mode: 'Webhook' } });
  });

  it('for anonymous requests that RBAC judges is nothing special', async () => {
    expect((await load({ 'anonymous-auth': 'true' })).access).toMatchObject({ anonymous: true });
  });
});

describe('access to the kubelet API', () => {
  it('comes from the file, field by field, and flags win', async () => {
    const file = kubeletFile(
      `authentication: {anonymous: {enabled: true}, webhook: {cacheTTL: 30s}, x509: {clientCAFile: tls.crt}}
authorization: {webhook: {cacheAuthorizedTTL: 1m, cacheUnauthorizedTTL: 2s}}`,
    );
    expect((await load({ config: 'c.yaml', 'anonymous-auth': 'false' }, file)).access).toEqual({
      anonymous: false,
      tokens: { enabled: true, cacheMs: 30_000 },
      authorization: { mode: 'Webhook', allowedMs: 60_000, deniedMs: 2_000 },
    });
    expect(await onlyNode({ config: 'c.yaml' }, file)).toMatchObject({ clientCaFile: '/etc/o/tls.crt' });
    const flags = { config: 'c.yaml', 'client-ca-file': 'tls.key' };
    expect(await onlyNode(flags, file)).toMatchObject({ clientCaFile: '/etc/o/tls.key' });
  });

  it('that nobody could use is refused', async () => {
    expect(await complaint({ 'authentication-token-webhook': 'false' })).toContain('no way to log in');
    const { access } = await load({ 'authentication-token-webhook': 'false', 'client-ca-file': 'tls.crt' });
    expect(access.tokens.enabled).toBe(false);
  });

  it.each([
    ['authorization: {mode: RBAC}', 'authorization.mode: "RBAC" must be Webhook or AlwaysAllow'],
    ['authentication: {webhook: {cacheTTL: 5}}', 'authentication.webhook.cacheTTL: 5 must be a text'],
    ['authentication: {anonymous: {enabled: "yes"}}', 'authentication.anonymous.enabled: "yes" must be true or false'],
    ['authentication: {oidc: {}}', 'authentication.oidc'],
  ])('%s is refused by name', async (fields, text) => {
    expect(await complaint({ config: 'c.yaml' }, kubeletFile(fields))).toContain(text);
  });

  it('by the read-only port does not get in the way of another one', async () => {
    expect(await complaint({ 'read-only-port': '10250' })).toContain('port 10250 is also the port of node');
    expect(await complaint({ 'read-only-port': '10248' })).toContain('port 10248 is also the port of /healthz');
  });
});

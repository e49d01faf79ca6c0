/** What a SubjectAccessReview asks: may this user do `verb` on `nodes/<subresource>` of this node (reference 11.12). */
export interface AccessAttributes {
  readonly verb: string;
  readonly subresource: string;
}

/** Other methods, HEAD too, give an empty verb, which only rules for every verb allow. */
const VERBS: Readonly<Record<string, string>> = {
  GET: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** In the order in which they are asked; the first that is allowed lets the request in. */
const SUBRESOURCES: readonly (readonly [path: string, subresources: readonly string[]])[] = [
  ['/pods', ['pods', 'proxy']],
  ['/healthz', ['healthz', 'proxy']],
  ['/configz', ['configz', 'proxy']],
  ['/runningpods', ['pods', 'proxy']],
  ['/stats', ['stats']],
  ['/metrics', ['metrics']],
  ['/logs', ['log']],
  ['/checkpoint', ['checkpoint']],
  ['/statusz', ['statusz']],
  ['/flagz', ['configz']],
];

/** `path` is decoded and without query. Never empty. Kubelet: nodeAuthorizerAttributesGetter.GetRequestAttributes. */
export function accessAttributes(method: string, path: string): readonly AccessAttributes[] {
  const found = SUBRESOURCES.find(([prefix]) => path === prefix || path.startsWith(`${prefix}/`));
  const verb = Object.hasOwn(VERBS, method) ? (VERBS[method] ?? '') : '';
  return (found?.[1] ?? ['proxy']).map((subresource) => ({ verb, subresource }));
}

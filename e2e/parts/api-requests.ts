/** How often the API server was asked for what: `VERB resource/subresource` to count. From its own metrics, so of all clients together. */
export type ApiRequests = ReadonlyMap<string, number>;

/** Reads `apiserver_request_total` of a /metrics page; different codes and versions of one request are added up. */
export function parseApiRequests(metrics: string): ApiRequests {
  const requests = new Map<string, number>();
  for (const line of metrics.split('\n')) {
    if (!line.startsWith('apiserver_request_total{')) continue;
    const end = line.lastIndexOf('}');
    const labels = new Map<string, string>();
    for (const [, name = '', value = ''] of line.slice(0, end).matchAll(/(\w+)="([^"]*)"/g)) labels.set(name, value);
    const resource = labels.get('resource') ?? '';
    if (resource === '') continue;
    const subresource = labels.get('subresource');
    const key = `${labels.get('verb')} ${resource}${subresource ? `/${subresource}` : ''}`;
    requests.set(key, (requests.get(key) ?? 0) + Number(line.slice(end + 1)));
  }
  return requests;
}

/** What came after `before`, less what `own` says that the measuring itself asked for. */
export function requestsSince(before: ApiRequests, after: ApiRequests, own: ApiRequests = new Map()): ApiRequests {
  const result = new Map<string, number>();
  for (const [key, count] of after) {
    const difference = count - (before.get(key) ?? 0) - (own.get(key) ?? 0);
    if (difference > 0) result.set(key, difference);
  }
  return result;
}

const WRITES = /^(POST|PUT|PATCH|APPLY|DELETE|DELETECOLLECTION) /;

/** Writes that grow with the number of pods, as opposed to a node's heartbeats. */
export function podWrites(requests: ApiRequests): number {
  let sum = 0;
  for (const [key, count] of requests)
    if (WRITES.test(key) && / (pods|events|serviceaccounts)(\/|$)/.test(key)) sum += count;
  return sum;
}

import { expect, test } from 'vitest';
import { parseApiRequests, podWrites, requestsSince } from './api-requests.ts';

const PAGE = `# HELP apiserver_request_total Counter of apiserver requests
# TYPE apiserver_request_total counter
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="status",verb="PATCH",version="v1"} 12
apiserver_request_total{code="409",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="status",verb="PATCH",version="v1"} 1
apiserver_request_total{code="201",component="apiserver",dry_run="",group="",resource="pods",scope="resource",subresource="",verb="POST",version="v1"} 3
apiserver_request_total{code="200",component="apiserver",dry_run="",group="",resource="",scope="",subresource="/readyz",verb="GET",version=""} 99
apiserver_request_total{code="200",component="apiserver",dry_run="",group="coordination.k8s.io",resource="leases",scope="resource",subresource="",verb="PUT",version="v1"} 1.5e+01
apiserver_request_total_other{verb="POST"} 7
`;

test('adds up requests by verb and resource, without those for no resource', () => {
  expect([...parseApiRequests(PAGE)]).toEqual([
    ['PATCH pods/status', 13],
    ['POST pods', 3],
    ['PUT leases', 15],
  ]);
});

test('a difference leaves out what did not change and what the measuring asked for', () => {
  const before = new Map([
    ['POST pods', 1],
    ['PUT leases', 5],
  ]);
  const own = new Map([['POST pods', 2]]);
  expect([...requestsSince(before, parseApiRequests(PAGE), own)]).toEqual([
    ['PATCH pods/status', 13],
    ['PUT leases', 10],
  ]);
});

test('heartbeats are no writes per pod; reads are no writes', () => {
  const requests = new Map([
    ['PATCH pods/status', 2],
    ['POST events', 3],
    ['POST serviceaccounts/token', 1],
    ['PUT leases', 10],
    ['PATCH nodes/status', 4],
    ['GET pods', 8],
    ['WATCH pods', 1],
  ]);
  expect(podWrites(requests)).toBe(6);
});

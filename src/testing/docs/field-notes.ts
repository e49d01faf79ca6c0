/** What fields of the configuration mean. A field that is missing here, or here only, fails docs.test.ts. */

export const KUBELET_NOTES: Readonly<Record<string, string>> = {
  address: 'Where the kubelet API listens.',
  port: 'Port of the kubelet API; 0 takes any free one.',
  healthzBindAddress: 'Where plain `/healthz` of the process listens.',
  healthzPort: 'Its port; 0 turns it off.',
  tlsCertFile:
    'Serving certificate of the kubelet API. This, serverTLSBootstrap, or a self-signed one: one of them has to be asked for.',
  tlsPrivateKeyFile: 'Its key.',
  tlsMinVersion: '`VersionTLS12` or `VersionTLS13`.',
  tlsCipherSuites:
    "Go's names of cipher suites of TLS 1.2; those of 1.3 are always there. Without any: the library's choice.",
  serverTLSBootstrap:
    'Serving certificate by CertificateSigningRequest, renewed by itself. Somebody else has to approve it. Files of tlsCertFile count until then.',
  rotateCertificates: 'Renew the client certificate by itself. For one node, and with `--kubeconfig`.',
  readOnlyPort:
    'Plain HTTP without authentication on `address`: `/pods`, `/stats`, `/metrics`, `/healthz`. 0, the default, turns it off.',
  'authentication.anonymous.enabled':
    'Whether a request without credentials is that of `system:anonymous`. Default false.',
  'authentication.webhook.enabled': 'Whether bearer tokens name users, by TokenReview. Default true.',
  'authentication.webhook.cacheTTL': 'How long the answers count, yes and no. Default 2m.',
  'authentication.x509.clientCAFile':
    'Client certificates signed by an authority in this file name users. Without it none does.',
  'authorization.mode':
    '`AlwaysAllow` lets every user do everything; it is refused without the flag `--allow-open-kubelet-api`. Default Webhook.',
  'authorization.webhook.cacheAuthorizedTTL': 'How long a yes of a SubjectAccessReview counts. Default 5m.',
  'authorization.webhook.cacheUnauthorizedTTL': 'How long a no counts. Default 30s.',
  streamingConnectionIdleTimeout:
    'How long exec, attach and port-forward may be silent before they are ended. Default 4h, as is 0.',
  'featureGates.ExtendWebSocketsToKubelet':
    'Whether the Node declares that streams may come as WebSockets. Otherwise the API server translates them. Default true.',
  enableDebuggingHandlers:
    'exec, attach, port-forward, run, container logs, `/runningpods`, `/configz`, `/debug`, `/logs`. Default true.',
  enableProfilingHandler: '`/debug/pprof`. Default true.',
  enableDebugFlagsHandler: '`/debug/flags/v`. Default true.',
  enableSystemLogHandler: '`/logs/`, files of this machine. Default false, unlike the kubelet.',
  clusterDNS: 'DNS servers of pods with dnsPolicy ClusterFirst. The first three are used.',
  clusterDomain: 'DNS domain of the cluster, for the search list of these pods.',
  maxPods: 'Pods at the same time.',
  podsPerCore: 'Pods per whole core, as a bound beside maxPods; 0 sets none.',
  podPidsLimit: 'Processes per container; -1 or 0 sets no limit.',
  podCIDR: 'Pod network of the node. Without one: `spec.podCIDR` of the Node object.',
  providerID: '`spec.providerID` of the Node, at creation.',
  registerNode: 'Whether to create the Node object; otherwise the process waits for somebody to create it.',
  registerWithTaints: 'Taints at creation (`key`, `value`, `effect`), instead of the default one.',
  nodeStatusUpdateFrequency: 'How often the status of the Node is computed.',
  nodeStatusReportFrequency:
    'How often an unchanged status is sent. If only the update frequency is given, that one counts.',
  nodeLeaseDurationSeconds: 'Duration of the Lease; it is renewed after a quarter of it.',
  nodeStatusMaxImages: 'Images listed in the Node; -1 is all of them.',
  kubeReserved: 'Taken off allocatable: `cpu`, `memory`, `ephemeral-storage`; `pid` is accepted and shows nowhere.',
  systemReserved: 'The same; both are added.',
  eventRecordQPS: 'Events sent a second; 0 sets no limit.',
  eventBurst: 'Events at once before that limit holds.',
  registryPullQPS: 'Image pulls a second; 0 sets no limit.',
  registryBurst: 'Pulls at once before that limit holds.',
  serializeImagePulls: 'One pull at a time. The default is true unless maxParallelImagePulls is 2 or more.',
  maxParallelImagePulls: 'Most pulls at the same time.',
  'crashLoopBackOff.maxContainerRestartPeriod': 'Longest delay of CrashLoopBackOff.',
};

export const OUTRIGGER_NOTES: Readonly<Record<string, string>> = {
  'nodes[].name': 'Name of the node. Required.',
  'nodes[].provider': 'Backend that runs its pods. Required.',
  'nodes[].providerConfig': "The backend's own section; see docker below.",
  'nodes[].nodeIP': 'Address of the node, or two of different families. Without one: what the backend reports.',
  'nodes[].podCIDR': 'Pod network of this node.',
  'nodes[].labels': 'Labels at creation; null takes a default label away.',
  'nodes[].taints': 'Taints at creation, instead of the default one; an empty list is none.',
  'nodes[].address': 'Where its kubelet API listens.',
  'nodes[].port': 'Its port. If several nodes are listed the default is 0, any free one.',
  'nodes[].readOnlyPort': 'Its read-only port.',
  'nodes[].systemLogDir': 'Folder that `/logs/` shows, if `enableSystemLogHandler` is true. Default `/var/log`.',
  'nodes[].tlsCertFile': 'Serving certificate of this node.',
  'nodes[].tlsPrivateKeyFile': 'Its key.',
  'nodes[].selfSignedServingCertificate':
    'Whether one is made that nobody can verify, with a warning, if it has no other.',
  'nodes[].maxPods': 'Pods at the same time on this node.',
  'nodes[].providerID': '`spec.providerID` of this node.',
  'nodes[].kubeReserved': 'As in KubeletConfiguration.',
  'nodes[].systemReserved': 'As in KubeletConfiguration.',
};

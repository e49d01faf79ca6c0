/**
 * The effective configuration: defaults < file < flags, checked and in our own units. app.ts builds the process from it.
 * Times are milliseconds and sizes bytes unless the name says otherwise. Optional fields are absent, never empty.
 */
export interface Config {
  /** `--kubeconfig`; absent: the service account of the pod this process runs in. */
  readonly kubeconfig?: string;
  /** `--context` of the kubeconfig; absent: its current one. */
  readonly context?: string;
  readonly clientCertificate: ClientCertificateConfig;
  /** What stood on the command line, without dashes; shown at /flagz. */
  readonly flags: Readonly<Record<string, string>>;
  readonly log: {
    /** `--log-format`, default json. */
    readonly format: 'json' | 'text';
    /** `-v`, klog's verbosity: 4 and above shows debug lines. Default 2. */
    readonly verbosity: number;
  };
  /** Plain HTTP /healthz of the whole process (`healthzBindAddress`, `healthzPort`): 127.0.0.1:10248; port 0 turns it off. */
  readonly healthz: { readonly address: string; readonly port: number };
  /** Of the kubelet API (`tlsMinVersion`, `tlsCipherSuites`). */
  readonly tls: TlsConfig;
  readonly access: AccessConfig;
  /** What the kubelet API shows beside what the cluster needs; each but `handlers` only together with `handlers`. */
  readonly debug: {
    /** exec, attach, port-forward, logs, run, configz and the like (`enableDebuggingHandlers`), default true. */
    readonly handlers: boolean;
    /** `/debug/pprof` (`enableProfilingHandler`), default true. */
    readonly profiling: boolean;
    /** `/debug/flags/v` (`enableDebugFlagsHandler`), default true. */
    readonly flags: boolean;
    /** `/logs/` (`enableSystemLogHandler`), default false. */
    readonly systemLogs: boolean;
  };
  readonly streaming: {
    /** Streams on which nothing happens end after it (`streamingConnectionIdleTimeout`), default 4 h. */
    readonly idleTimeoutMs: number;
    /** Commands of exec are killed when their client is gone (`--end-exec-with-client`); by default they live on, as on the kubelet. */
    readonly endExecWithClient: boolean;
    /** Whether the Node declares that it takes WebSockets, where the backend can (`featureGates.ExtendWebSocketsToKubelet`), default true. */
    readonly declareWebSockets: boolean;
  };
  /** DNS servers of pods with dnsPolicy ClusterFirst (`clusterDNS`, `--cluster-dns`). Default none. */
  readonly clusterDns: readonly string[];
  /** Search domain of the cluster (`clusterDomain`, `--cluster-domain`). Default "". */
  readonly clusterDomain: string;
  readonly nodeStatus: NodeStatusConfig;
  /** Events sent to the API server (`eventRecordQPS` 50, 0 = no limit; `eventBurst` 100). */
  readonly events: { readonly qps: number; readonly burst: number };
  readonly images: {
    /** Pulls a second (`registryPullQPS`), default 5, 0 = no limit. */
    readonly pullQps: number;
    /** `registryBurst`, default 10. */
    readonly pullBurst: number;
    /**
     * Most pulls at the same time on one node; absent: no limit. 1 with `serializeImagePulls` (the default), else
     * `maxParallelImagePulls`.
     */
    readonly maxParallelPulls?: number;
  };
  /** Longest CrashLoopBackOff delay (`crashLoopBackOff.maxContainerRestartPeriod`, 1s to 300s), default 300 000. */
  readonly maxRestartBackoffMs: number;
  /** Processes per container (`podPidsLimit`); absent: no limit of ours. */
  readonly podPidsLimit?: number;
  /** At least one. Names, ports and pod networks do not collide. */
  readonly nodes: readonly NodeConfig[];
}

export interface TlsConfig {
  readonly minVersion: 'TLSv1.2' | 'TLSv1.3';
  /** OpenSSL's names, those of TLS 1.3 included; absent: the library's own choice. */
  readonly ciphers?: readonly string[];
}

/** Where a node's serving certificate comes from (reference 13.3). */
export type ServingConfig =
  /** `tlsCertFile` and `tlsPrivateKeyFile`, followed when they change. */
  | ({ readonly type: 'files' } & KeyFiles)
  /** `serverTLSBootstrap`: the cluster's signer, once somebody approves; until then `initial`, if it fits the node. */
  | { readonly type: 'requested'; readonly initial?: KeyFiles }
  /** Asked for by `--self-signed-serving-certificate`: kept in `certDir`. */
  | { readonly type: 'selfSigned' };

export interface KeyFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** How the process comes to its identity at the API server (reference 13.1, 13.2). */
export interface ClientCertificateConfig {
  /** `--bootstrap-kubeconfig`: credentials to get the first certificate with. */
  readonly bootstrapKubeconfig?: string;
  /** `rotateCertificates`, default false. */
  readonly rotate: boolean;
}

/** Who is let in at the kubelet API, and how long the API server's answers about that count. */
export interface AccessConfig {
  /** A request without credentials is that of system:anonymous (`authentication.anonymous.enabled`), default false. */
  readonly anonymous: boolean;
  /** Bearer tokens by TokenReview (`authentication.webhook`), default on, answers count 120 000. */
  readonly tokens: { readonly enabled: boolean; readonly cacheMs: number };
  /** By SubjectAccessReview, or not at all (`authorization`), default Webhook, a yes counts 300 000 and a no 30 000. */
  readonly authorization: {
    readonly mode: 'Webhook' | 'AlwaysAllow';
    readonly allowedMs: number;
    readonly deniedMs: number;
  };
}

export interface NodeStatusConfig {
  /** How often the status is computed (`nodeStatusUpdateFrequency`), default 10 000. */
  readonly updateFrequencyMs: number;
  /** How often an unchanged status is sent (`nodeStatusReportFrequency`), default 300 000, or the update frequency if only that is given. */
  readonly reportFrequencyMs: number;
  /** `nodeLeaseDurationSeconds`, default 40; the Lease is renewed after a quarter of it. */
  readonly leaseDurationSeconds: number;
  /** Images listed in the Node (`nodeStatusMaxImages`), default 50; -1 is all of them. */
  readonly maxImages: number;
}

/** One virtual node. Each field comes from its entry in OutriggerConfiguration, or from the flag or KubeletConfiguration field named. */
export interface NodeConfig {
  /** `--hostname-override`, else the machine's host name; a DNS subdomain. */
  readonly name: string;
  /** `--provider`, default docker. */
  readonly provider: string;
  /** The provider's own section, raw; ProviderModule.parseConfig checks it. `--provider-config FILE`, default {}. */
  readonly providerConfig: unknown;
  /** One or two addresses, primary family first (`--node-ip`); empty: what the backend reports. */
  readonly nodeIPs: readonly string[];
  /** The node's pod network (`--pod-cidr`); absent: spec.podCIDR of the Node object. */
  readonly podCidr?: string;
  /** Address of the kubelet API, default 0.0.0.0. */
  readonly address: string;
  /** Port of the kubelet API, default 10250 (0 where several nodes are listed); 0 takes any free port. */
  readonly port: number;
  /** Plain HTTP for everybody, with what the kubelet shows there (`--read-only-port`); 0, the default, turns it off. */
  readonly readOnlyPort: number;
  /** Folder that `/logs/` shows (`systemLogDir`), default /var/log; only with `debug.systemLogs`. */
  readonly systemLogDir: string;
  readonly serving: ServingConfig;
  /** Keys and certificates that are made or issued (`--cert-dir`), default /var/lib/outrigger/pki, with several nodes a folder each below it. */
  readonly certDir: string;
  /** Client certificates signed by this CA are users (`--client-ca-file`); absent: no client certificate is. */
  readonly clientCaFile?: string;
  /** Whether to create the Node object (`--register-node`), default true; false waits for somebody to create it. */
  readonly register: boolean;
  /** Labels at creation, ours included, besides those that the backend's report gives (os, arch, host name). */
  readonly labels: Readonly<Record<string, string>>;
  /** Taints at creation (`--register-with-taints`), default `virtual-kubelet.io/provider=<provider>:NoSchedule`. */
  readonly taints: readonly Taint[];
  /** spec.providerID (`--provider-id`). */
  readonly providerId?: string;
  /** `--max-pods`; absent: what the backend reports, at most 110. */
  readonly maxPods?: number;
  /** Pods per whole core on top of maxPods; 0 = no such bound. */
  readonly podsPerCore: number;
  /** kubeReserved plus systemReserved: what allocatable is smaller by. */
  readonly reserved: ReservedResources;
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';
}

export interface ReservedResources {
  readonly cpuMilli: number;
  readonly memoryBytes: number;
  readonly ephemeralBytes: number;
}

import { formatDuration } from '../util/duration.ts';
import type { Config, NodeConfig, ReservedResources } from './config.ts';

/**
 * The effective configuration of one node as the document that a kubelet shows at `/configz` (reference 11.2): fields that mean
 * something here, defaults included. Zeros and empty lists are left out where Go leaves them out. No secrets: none is in Config.
 */
export function kubeletConfiguration(config: Config, node: NodeConfig): object {
  const { healthz, debug, clusterDns, clusterDomain, nodeStatus, events, images, log } = config;
  return pruned({
    kind: 'KubeletConfiguration',
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    enableServer: true,
    address: node.address,
    port: node.port,
    readOnlyPort: orAbsent(node.readOnlyPort),
    ...servingFields(config, node),
    ...accessFields(config, node),
    registryPullQPS: images.pullQps,
    registryBurst: images.pullBurst,
    eventRecordQPS: events.qps,
    eventBurst: events.burst,
    enableDebuggingHandlers: debug.handlers,
    healthzPort: healthz.port,
    healthzBindAddress: healthz.address,
    clusterDomain: orAbsent(clusterDomain),
    clusterDNS: orAbsent(clusterDns),
    featureGates: config.streaming.declareWebSockets ? undefined : { ExtendWebSocketsToKubelet: false },
    streamingConnectionIdleTimeout: formatDuration(config.streaming.idleTimeoutMs),
    nodeStatusUpdateFrequency: formatDuration(nodeStatus.updateFrequencyMs),
    nodeStatusReportFrequency: formatDuration(nodeStatus.reportFrequencyMs),
    nodeLeaseDurationSeconds: nodeStatus.leaseDurationSeconds,
    maxPods: node.maxPods,
    podCIDR: node.podCidr,
    podPidsLimit: config.podPidsLimit ?? -1,
    podsPerCore: orAbsent(node.podsPerCore),
    nodeStatusMaxImages: nodeStatus.maxImages,
    serializeImagePulls: images.maxParallelPulls === 1,
    maxParallelImagePulls: images.maxParallelPulls === 1 ? undefined : images.maxParallelPulls,
    // Both kinds of reserved resources end in one sum.
    kubeReserved: reserved(node.reserved),
    logging: { format: log.format, verbosity: log.verbosity },
    enableSystemLogHandler: debug.systemLogs,
    enableProfilingHandler: debug.profiling,
    enableDebugFlagsHandler: debug.flags,
    registerWithTaints: orAbsent(node.taints),
    registerNode: node.register,
    providerID: node.providerId,
    crashLoopBackOff: { maxContainerRestartPeriod: formatDuration(config.maxRestartBackoffMs) },
  });
}

function servingFields({ tls, clientCertificate }: Config, { serving }: NodeConfig): object {
  const files = serving.type === 'files' ? serving : serving.type === 'requested' ? serving.initial : undefined;
  return {
    tlsCertFile: files?.certFile,
    tlsPrivateKeyFile: files?.keyFile,
    tlsCipherSuites: tls.ciphers,
    tlsMinVersion: tls.minVersion === 'TLSv1.3' ? 'VersionTLS13' : 'VersionTLS12',
    rotateCertificates: clientCertificate.rotate || undefined,
    serverTLSBootstrap: serving.type === 'requested' || undefined,
  };
}

function accessFields({ access }: Config, { clientCaFile }: NodeConfig): object {
  const { anonymous, tokens, authorization } = access;
  return {
    authentication: {
      x509: { clientCAFile: clientCaFile },
      webhook: { enabled: tokens.enabled, cacheTTL: formatDuration(tokens.cacheMs) },
      anonymous: { enabled: anonymous },
    },
    authorization: {
      mode: authorization.mode,
      webhook: {
        cacheAuthorizedTTL: formatDuration(authorization.allowedMs),
        cacheUnauthorizedTTL: formatDuration(authorization.deniedMs),
      },
    },
  };
}

function reserved({ cpuMilli, memoryBytes, ephemeralBytes }: ReservedResources): object | undefined {
  const amounts: readonly (readonly [string, string, number])[] = [
    ['cpu', `${cpuMilli}m`, cpuMilli],
    ['memory', String(memoryBytes), memoryBytes],
    ['ephemeral-storage', String(ephemeralBytes), ephemeralBytes],
  ];
  const given = amounts.filter(([, , amount]) => amount > 0);
  return given.length === 0 ? undefined : Object.fromEntries(given.map(([name, text]) => [name, text]));
}

function orAbsent<T extends number | string | readonly unknown[]>(value: T): T | undefined {
  const empty = typeof value === 'object' ? value.length === 0 : value === 0 || value === '';
  return empty ? undefined : value;
}

/** As it will be in JSON: without what is undefined. */
function pruned(document: object): object {
  return Object.fromEntries(Object.entries(document).filter(([, value]) => value !== undefined));
}

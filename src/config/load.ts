import { dirname, resolve } from 'node:path';
import { UsageError } from '../util/errors.ts';
import { accessFields, buildAccess } from './access.ts';
import { clientCertificateConfig } from './certificates.ts';
import type { Config } from './config.ts';
import { type ConfigDocuments, parseConfigDocuments } from './documents.ts';
import { given, type LoadEnvironment, read } from './environment.ts';
import { type Flags, type FlagTexts, ONE_NODE_FLAGS, parseFlags } from './flags.ts';
import { checkIdentity, checkNodes } from './node-conflicts.ts';
import { buildNodes } from './nodes.ts';
import type { KubeletDocument } from './schema.ts';
import { buildTls } from './tls.ts';

const STREAM_IDLE_MS = 4 * 3_600_000;

/** Defaults < file < flags (reference 12.3). Throws UsageError with one line that names the flag or field and the value. */
export async function loadConfig(texts: FlagTexts, environment: LoadEnvironment): Promise<Config> {
  const flags = parseFlags(texts);
  const file = await loadDocuments(flags, environment);
  refuseOneNodeFlags(flags, file);
  const kubelet = withFlags(resolveFiles(file.kubelet, file.path), flags, environment.cwd);
  const sources = { kubelet, flags, file, environment };
  const nodes = await buildNodes(sources);
  const config: Config = {
    ...(given(flags.kubeconfig) && { kubeconfig: resolve(environment.cwd, flags.kubeconfig) }),
    ...(given(flags.context) && { context: flags.context }),
    clientCertificate: clientCertificateConfig(sources),
    flags: texts,
    log: { format: flags['log-format'] ?? 'json', verbosity: flags.v ?? 2 },
    healthz: { address: kubelet.healthzBindAddress ?? '127.0.0.1', port: kubelet.healthzPort ?? 10248 },
    tls: buildTls({
      tlsMinVersion: flags['tls-min-version'] ?? kubelet.tlsMinVersion,
      tlsCipherSuites: flags['tls-cipher-suites'] ?? kubelet.tlsCipherSuites,
    }),
    access: buildAccess(kubelet, flags),
    debug: {
      handlers: kubelet.enableDebuggingHandlers ?? true,
      profiling: kubelet.enableProfilingHandler ?? true,
      flags: kubelet.enableDebugFlagsHandler ?? true,
      // Off, unlike the kubelet's: these are the logs of the machine this runs on, which is not the node.
      systemLogs: kubelet.enableSystemLogHandler ?? false,
    },
    streaming: {
      // Zero is the default too, as on the kubelet.
      idleTimeoutMs: kubelet.streamingConnectionIdleTimeout || STREAM_IDLE_MS,
      endExecWithClient: flags['end-exec-with-client'] ?? false,
      declareWebSockets: kubelet.featureGates?.ExtendWebSocketsToKubelet ?? true,
    },
    clusterDns: kubelet.clusterDNS ?? [],
    clusterDomain: kubelet.clusterDomain ?? '',
    nodeStatus: {
      updateFrequencyMs: kubelet.nodeStatusUpdateFrequency ?? 10_000,
      reportFrequencyMs: kubelet.nodeStatusReportFrequency ?? kubelet.nodeStatusUpdateFrequency ?? 300_000,
      leaseDurationSeconds: kubelet.nodeLeaseDurationSeconds ?? 40,
      maxImages: kubelet.nodeStatusMaxImages ?? 50,
    },
    events: { qps: kubelet.eventRecordQPS ?? 50, burst: kubelet.eventBurst ?? 100 },
    images: {
      pullQps: kubelet.registryPullQPS ?? 5,
      pullBurst: kubelet.registryBurst ?? 10,
      ...parallelPulls(kubelet),
    },
    maxRestartBackoffMs: kubelet.crashLoopBackOff?.maxContainerRestartPeriod ?? 300_000,
    ...(kubelet.podPidsLimit !== undefined && kubelet.podPidsLimit > 0 && { podPidsLimit: kubelet.podPidsLimit }),
    nodes,
  };
  checkNodes(config);
  checkIdentity(config);
  await checkReadable(config, environment);
  return config;
}

interface LoadedFile extends ConfigDocuments {
  /** Absolute; absent without --config. */
  readonly path?: string;
}

async function loadDocuments(flags: Flags, environment: LoadEnvironment): Promise<LoadedFile> {
  if (!given(flags.config)) return { kubelet: {} };
  const path = resolve(environment.cwd, flags.config);
  return { ...parseConfigDocuments(flags.config, await read('--config', path, environment)), path };
}

function refuseOneNodeFlags(flags: Flags, file: LoadedFile): void {
  const nodes = file.outrigger?.nodes.length ?? 1;
  const used = ONE_NODE_FLAGS.find((name) => flags[name] !== undefined);
  if (nodes > 1 && used !== undefined) {
    throw new UsageError(`--${used}: describes one node, but ${flags.config} lists ${nodes}; say it there`);
  }
}

/** Relative paths in a file start at its folder (reference 12.3). */
function resolveFiles(kubelet: KubeletDocument, path: string | undefined): KubeletDocument {
  const base = path === undefined ? '/' : dirname(path);
  const clientCAFile = kubelet.authentication?.x509?.clientCAFile;
  return {
    ...kubelet,
    ...(given(kubelet.tlsCertFile) && { tlsCertFile: resolve(base, kubelet.tlsCertFile) }),
    ...(given(kubelet.tlsPrivateKeyFile) && { tlsPrivateKeyFile: resolve(base, kubelet.tlsPrivateKeyFile) }),
    ...(given(clientCAFile) && {
      authentication: { ...kubelet.authentication, x509: { clientCAFile: resolve(base, clientCAFile) } },
    }),
  };
}

/** A flag replaces the field of the same meaning. Those of one node are applied in nodes.ts, where they beat its entry too. */
function withFlags(kubelet: KubeletDocument, flags: Flags, cwd: string): KubeletDocument {
  const { authentication, authorization } = accessFields(kubelet, flags);
  return {
    ...kubelet,
    authorization,
    authentication: {
      ...authentication,
      ...(given(flags['client-ca-file']) && { x509: { clientCAFile: resolve(cwd, flags['client-ca-file']) } }),
    },
    ...(flags['enable-debugging-handlers'] !== undefined && {
      enableDebuggingHandlers: flags['enable-debugging-handlers'],
    }),
    ...(flags['feature-gates'] !== undefined && {
      featureGates: { ...kubelet.featureGates, ...flags['feature-gates'] },
    }),
    ...(flags['healthz-port'] !== undefined && { healthzPort: flags['healthz-port'] }),
    ...(flags['register-node'] !== undefined && { registerNode: flags['register-node'] }),
    ...(flags['cluster-dns'] !== undefined && { clusterDNS: flags['cluster-dns'] }),
    ...(flags['cluster-domain'] !== undefined && { clusterDomain: flags['cluster-domain'] }),
  };
}

/** As the kubelet: serial by default, in parallel when a bound of two or more is given (reference 12.1). */
function parallelPulls(kubelet: KubeletDocument): { maxParallelPulls?: number } {
  const max = kubelet.maxParallelImagePulls;
  const serial = kubelet.serializeImagePulls ?? (max === undefined || max < 2);
  if (serial && max !== undefined && max > 1) {
    throw new UsageError(
      `KubeletConfiguration.maxParallelImagePulls: ${max} must not be larger than 1 while serializeImagePulls is true`,
    );
  }
  if (serial) return { maxParallelPulls: 1 };
  return max === undefined ? {} : { maxParallelPulls: max };
}

/** Found here and not at the first use, so that a wrong path is a usage error of this start. */
async function checkReadable(config: Config, environment: LoadEnvironment): Promise<void> {
  const { bootstrapKubeconfig } = config.clientCertificate;
  // With one to begin with, the other is still to be written.
  if (bootstrapKubeconfig !== undefined) await read('--bootstrap-kubeconfig', bootstrapKubeconfig, environment);
  else if (config.kubeconfig !== undefined) await read('--kubeconfig', config.kubeconfig, environment);
  for (const node of config.nodes) {
    if (node.serving.type === 'files') {
      await read('--tls-cert-file (tlsCertFile)', node.serving.certFile, environment);
      await read('--tls-private-key-file (tlsPrivateKeyFile)', node.serving.keyFile, environment);
    }
    if (node.clientCaFile !== undefined) {
      await read('--client-ca-file (authentication.x509.clientCAFile)', node.clientCaFile, environment);
    }
  }
}

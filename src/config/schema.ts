import { z } from 'zod';
import * as field from './fields.ts';
import { checkNodeLabel } from './labels.ts';

/**
 * The two documents of --config. KubeletConfiguration has the kubelet's own field names and holds only what something here uses;
 * each other one is refused by name, so that nothing is ever ignored in silence. Defaults are load.ts's affair.
 */
export const kubeletSchema = z.strictObject({
  address: field.ip.optional(),
  port: field.port.optional(),
  healthzBindAddress: field.ip.optional(),
  healthzPort: field.port.optional(),
  tlsCertFile: field.text.optional(),
  tlsPrivateKeyFile: field.text.optional(),
  tlsMinVersion: field.text.optional(),
  tlsCipherSuites: z.array(field.text).optional(),
  serverTLSBootstrap: field.flag.optional(),
  rotateCertificates: field.flag.optional(),
  readOnlyPort: field.port.optional(),
  authentication: z
    .strictObject({
      anonymous: z.strictObject({ enabled: field.flag.optional() }).optional(),
      webhook: z.strictObject({ enabled: field.flag.optional(), cacheTTL: field.duration(0).optional() }).optional(),
      x509: z.strictObject({ clientCAFile: field.text.optional() }).optional(),
    })
    .optional(),
  authorization: z
    .strictObject({
      mode: field.authorizationMode.optional(),
      webhook: z
        .strictObject({
          cacheAuthorizedTTL: field.duration(0).optional(),
          cacheUnauthorizedTTL: field.duration(0).optional(),
        })
        .optional(),
    })
    .optional(),
  streamingConnectionIdleTimeout: field.duration(0).optional(),
  featureGates: field.featureGates.optional(),
  enableDebuggingHandlers: field.flag.optional(),
  enableProfilingHandler: field.flag.optional(),
  enableDebugFlagsHandler: field.flag.optional(),
  enableSystemLogHandler: field.flag.optional(),
  clusterDNS: z.array(field.ip).optional(),
  clusterDomain: field.domain.optional(),
  maxPods: field.wholeNumber(1).optional(),
  podsPerCore: field.wholeNumber(0).optional(),
  podPidsLimit: field.wholeNumber(-1).optional(),
  podCIDR: field.podCidr.optional(),
  providerID: field.text.optional(),
  registerNode: field.flag.optional(),
  registerWithTaints: z.array(field.taint).optional(),
  nodeStatusUpdateFrequency: field.duration(1000).optional(),
  nodeStatusReportFrequency: field.duration(1000).optional(),
  nodeLeaseDurationSeconds: field.wholeNumber(4).optional(),
  nodeStatusMaxImages: field.wholeNumber(-1).optional(),
  kubeReserved: field.reserved.optional(),
  systemReserved: field.reserved.optional(),
  eventRecordQPS: field.wholeNumber(0).optional(),
  eventBurst: field.wholeNumber(0).optional(),
  registryPullQPS: field.wholeNumber(0).optional(),
  registryBurst: field.wholeNumber(0).optional(),
  serializeImagePulls: field.flag.optional(),
  maxParallelImagePulls: field.wholeNumber(1).optional(),
  crashLoopBackOff: z.strictObject({ maxContainerRestartPeriod: field.duration(1000, 300_000).optional() }).optional(),
});

/** A label set to null takes a default label away. */
const labelMap = z.record(z.string(), z.string().nullable()).superRefine((labels, context) => {
  for (const [key, value] of Object.entries(labels)) {
    const complaint = checkNodeLabel(key, value ?? '');
    if (complaint !== undefined)
      context.addIssue({ code: 'custom', message: `is not a set of node labels: ${complaint}` });
  }
});

export const outriggerSchema = z.strictObject({
  nodes: z
    .array(
      z.strictObject({
        name: field.nodeName,
        provider: field.text,
        providerConfig: z.record(z.string(), z.unknown()).optional(),
        nodeIP: field.nodeIps.optional(),
        podCIDR: field.podCidr.optional(),
        labels: labelMap.optional(),
        taints: z.array(field.taint).optional(),
        address: field.ip.optional(),
        port: field.port.optional(),
        readOnlyPort: field.port.optional(),
        systemLogDir: field.text.optional(),
        tlsCertFile: field.text.optional(),
        tlsPrivateKeyFile: field.text.optional(),
        selfSignedServingCertificate: field.flag.optional(),
        maxPods: field.wholeNumber(1).optional(),
        providerID: field.text.optional(),
        kubeReserved: field.reserved.optional(),
        systemReserved: field.reserved.optional(),
      }),
    )
    .min(1, 'must list at least one node'),
});

export type KubeletDocument = z.output<typeof kubeletSchema>;
export type OutriggerDocument = z.output<typeof outriggerSchema>;
export type NodeEntry = OutriggerDocument['nodes'][number];

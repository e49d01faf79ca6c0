import { z } from 'zod';

const DEFAULT_SOCKET = '/var/run/docker.sock';

// Engines follow dots and slashes of a name as a path of their API.
const imageName = z
  .string()
  .regex(/^[\w.:-]+(?:\/\w[\w.-]*)*(?::[\w.-]+)?(?:@[\w:]+)?$/, 'must be the name of an image');

export const dockerSchema = z
  .strictObject({
    socketPath: z.string().min(1).optional().describe(`Unix socket of the engine (default ${DEFAULT_SOCKET})`),
    host: z.string().min(1).optional().describe('Host name or address of an engine that listens on TCP'),
    port: z.int().min(1).max(65535).optional().describe('Port of that engine (default 2376 with TLS, else 2375)'),
    tls: z
      .strictObject({
        caFile: z.string().min(1).optional().describe('Certificates that the engine is trusted by (PEM)'),
        certFile: z.string().min(1).optional().describe('Own certificate (PEM)'),
        keyFile: z.string().min(1).optional().describe('Key of the own certificate (PEM)'),
      })
      .refine(({ certFile, keyFile }) => (certFile === undefined) === (keyFile === undefined), {
        message: 'certFile and keyFile belong together',
      })
      .optional(),
    sandboxImage: imageName
      .default('registry.k8s.io/pause:3.10.2')
      .describe('Image of the container that owns the network of a pod'),
    portForward: z
      .enum(['auto', 'netns', 'relay'])
      .default('auto')
      .describe(
        "How port-forward reaches a pod's loopback: a process of ours in the pod's network namespace (netns), or a container beside the pod (relay)",
      ),
    relayImage: imageName
      .default('registry.k8s.io/e2e-test-images/busybox:1.37.0-1')
      .describe('Image of relay containers; has sh and nc'),
    nodeAddress: z
      .union([z.ipv4(), z.ipv6()])
      .optional()
      .describe("InternalIP of the node (default: this machine's address, or the engine's host)"),
    requestTimeoutSeconds: z
      .number()
      .positive()
      .default(30)
      .describe('How long the engine may stay silent before it counts as unreachable'),
    logMaxSize: z
      .string()
      .regex(/^\d+[kmg]?$/)
      .default('10m')
      .describe('Size at which the engine rotates a container log'),
    logMaxFiles: z.int().min(1).default(5).describe('Files that the engine keeps of a container log'),
    seccompRoot: z
      .string()
      .regex(/^\//, 'must be an absolute path')
      .default('/var/lib/kubelet/seccomp')
      .describe('Directory of seccomp profiles (localhostProfile), on this machine'),
  })
  .refine(({ socketPath, host }) => socketPath === undefined || host === undefined, {
    message: 'socketPath and host exclude each other',
    path: ['host'],
  })
  .refine(({ host, port, tls }) => host !== undefined || (port === undefined && tls === undefined), {
    message: 'port and tls need a host',
    path: ['host'],
  });

export type DockerConfig = z.infer<typeof dockerSchema>;

export type EngineAddress =
  | { readonly type: 'socket'; readonly path: string }
  | { readonly type: 'tcp'; readonly host: string; readonly port: number; readonly tls: DockerConfig['tls'] };

export function engineAddress(config: DockerConfig): EngineAddress {
  if (config.host === undefined) return { type: 'socket', path: config.socketPath ?? DEFAULT_SOCKET };
  const port = config.port ?? (config.tls === undefined ? 2375 : 2376);
  return { type: 'tcp', host: config.host, port, tls: config.tls };
}

/** Whether pods of an engine there have addresses that this machine can reach. A socket of another machine can be mounted, but seldom is. */
export function isLocal(address: EngineAddress): boolean {
  return address.type === 'socket' || /^(localhost|127\..*|\[?::1\]?)$/.test(address.host);
}

export function parseConfig(raw: unknown): DockerConfig {
  const parsed = dockerSchema.safeParse(raw ?? {});
  if (!parsed.success) throw new Error(z.prettifyError(parsed.error));
  return parsed.data;
}

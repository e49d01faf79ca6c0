import { z } from 'zod';
import { usageError } from './complaints.ts';
import * as field from './fields.ts';
import { checkNodeLabel, splitTaint } from './labels.ts';

/** What stood on the command line: flag name without dashes → text. Absent: not given. */
export type FlagTexts = Readonly<Record<string, string>>;

/** Flags that say something about one node; a file that lists several leaves no room for them. */
export const ONE_NODE_FLAGS = [
  'provider',
  'provider-config',
  'hostname-override',
  'node-ip',
  'port',
  'read-only-port',
  'provider-id',
  'pod-cidr',
] as const satisfies readonly (keyof Flags)[];

export type Flags = z.output<typeof flagSchema>;

/** Names and meanings are the kubelet's (reference 12.1, 12.2). A flag may be given empty where its field may. */
const flagSchema = z.strictObject({
  kubeconfig: field.text.optional(),
  context: field.text.optional(),
  config: field.text.optional(),
  provider: field.text.optional(),
  'provider-config': field.text.optional(),
  'hostname-override': field.nodeName.optional(),
  'node-ip': field.nodeIps.optional(),
  address: field.ip.optional(),
  port: number(field.port).optional(),
  'read-only-port': number(field.port).optional(),
  'healthz-port': number(field.port).optional(),
  'max-pods': number(field.wholeNumber(1)).optional(),
  'register-node': boolean().optional(),
  'register-with-taints': taints().optional(),
  'node-labels': labels().optional(),
  'provider-id': field.text.optional(),
  'pod-cidr': field.podCidr.optional(),
  'tls-cert-file': field.text.optional(),
  'tls-private-key-file': field.text.optional(),
  'tls-min-version': field.text.optional(),
  'tls-cipher-suites': textList().optional(),
  'rotate-server-certificates': boolean().optional(),
  'self-signed-serving-certificate': boolean().optional(),
  'cert-dir': field.text.optional(),
  'bootstrap-kubeconfig': field.text.optional(),
  'rotate-certificates': boolean().optional(),
  'client-ca-file': field.text.optional(),
  'anonymous-auth': boolean().optional(),
  'authentication-token-webhook': boolean().optional(),
  'authentication-token-webhook-cache-ttl': field.duration(0).optional(),
  'authorization-mode': field.authorizationMode.optional(),
  'authorization-webhook-cache-authorized-ttl': field.duration(0).optional(),
  'authorization-webhook-cache-unauthorized-ttl': field.duration(0).optional(),
  'allow-open-kubelet-api': boolean().optional(),
  'enable-debugging-handlers': boolean().optional(),
  'end-exec-with-client': boolean().optional(),
  'feature-gates': featureGates().optional(),
  'cluster-dns': ipList().optional(),
  'cluster-domain': field.domain.optional(),
  'kube-reserved': reserved().optional(),
  'system-reserved': reserved().optional(),
  'log-format': z.enum(['json', 'text'], 'must be json or text').optional(),
  v: number(field.wholeNumber(0, 10)).optional(),
});

export function parseFlags(texts: FlagTexts): Flags {
  const parsed = flagSchema.safeParse(texts);
  if (parsed.success) return parsed.data;
  throw usageError(parsed.error, texts, {
    nameOf: ([name]) => (name === 'v' ? '-v' : `--${String(name)}`),
    unknownKey: () => 'unknown flag',
  });
}

function number(schema: z.ZodType<number>): z.ZodType<number, string> {
  return z
    .string()
    .transform((value) => (/^-?\d+$/.test(value) ? Number(value) : Number.NaN))
    .transform(as(schema));
}

function boolean(): z.ZodType<boolean, string> {
  return z.enum(['true', 'false'], 'must be true or false').transform((value) => value === 'true');
}

function textList(): z.ZodType<string[], string> {
  return z.string().transform(field.splitList);
}

function ipList(): z.ZodType<string[], string> {
  return z
    .string()
    .transform(field.splitList)
    .refine(
      (values) => values.every((value) => field.ip.safeParse(value).success),
      'must be IP addresses, separated by a comma',
    );
}

/** `key=value:Effect,…`; empty means no taint at all. */
function taints() {
  return z
    .string()
    .transform((value, context) =>
      field.splitList(value).map((part) => {
        const parts = splitTaint(part);
        if (parts !== undefined) return parts;
        context.addIssue({ code: 'custom', message: 'must be a list of taints such as key=value:NoSchedule' });
        return z.NEVER;
      }),
    )
    .transform(as(z.array(field.taint)));
}

/** `key=value,…`; `key-` takes a default label away, as in kubectl label. */
function labels(): z.ZodType<Record<string, string | null>, string> {
  return z.string().transform((value, context) => {
    const result: Record<string, string | null> = {};
    for (const part of field.splitList(value)) {
      const at = part.indexOf('=');
      const [key, label] = at >= 0 ? [part.slice(0, at), part.slice(at + 1)] : splitRemoval(part);
      const complaint = checkNodeLabel(key, label ?? '');
      if (complaint !== undefined) {
        context.addIssue({ code: 'custom', message: `is not a list of node labels: ${complaint}` });
        return z.NEVER;
      }
      result[key] = label;
    }
    return result;
  });
}

function splitRemoval(part: string): [key: string, label: string | null] {
  return part.endsWith('-') ? [part.slice(0, -1), null] : [part, ''];
}

/** `cpu=100m,memory=1Gi` */
function reserved() {
  return z
    .string()
    .transform((value, context) => {
      const pairs = field.splitList(value).map((part) => part.split('='));
      if (pairs.some((pair) => pair.length !== 2)) {
        context.addIssue({ code: 'custom', message: 'must be a list such as cpu=100m,memory=1Gi' });
        return z.NEVER;
      }
      return Object.fromEntries(pairs.map(([key = '', amount = '']) => [key, amount]));
    })
    .transform(as(field.reserved));
}

/** `Name=true,…`, as the kubelet takes them. */
function featureGates() {
  return z
    .string()
    .transform((value) =>
      Object.fromEntries(
        field.splitList(value).map((part) => {
          const [name = '', state = ''] = part.split('=');
          return [name, state === 'true' || (state === 'false' ? false : state)];
        }),
      ),
    )
    .transform(as(field.featureGates));
}

/** The second half of a flag's parsing. A flag is one text: what is wrong inside it is reported of the whole. */
function as<Output>(schema: z.ZodType<Output>): (value: unknown, context: z.core.$RefinementCtx) => Output {
  return (value, context) => {
    const parsed = schema.safeParse(value);
    if (parsed.success) return parsed.data;
    context.addIssue({ code: 'custom', message: parsed.error.issues[0]?.message ?? 'is not valid' });
    return z.NEVER;
  };
}

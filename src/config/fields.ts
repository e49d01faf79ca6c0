import { isIP } from 'node:net';
import { z } from 'zod';
import { quantityToBytes, quantityToMilli } from '../model/quantity.ts';
import { isNetwork, parseCidr } from '../util/cidr.ts';
import { parseDuration } from '../util/duration.ts';
import type { ReservedResources, Taint } from './config.ts';
import { type Complaint, checkDomain, checkTaint, isEffect } from './labels.ts';

/** Shapes of single values, shared by flags and files. Their messages follow the value: `--port: 70000 must be …`. */

export const port = wholeNumber(0, 65535);
export const text = z.string();
export const flag = z.boolean();
/** Gates of the kubelet that mean something here (reference 0.1). */
export const featureGates = z.strictObject(
  { ExtendWebSocketsToKubelet: flag.optional() },
  'may only hold ExtendWebSocketsToKubelet, true or false',
);
export const authorizationMode = z.enum(['Webhook', 'AlwaysAllow'], 'must be Webhook or AlwaysAllow');

export function wholeNumber(min: number, max = 2_147_483_647): z.ZodType<number> {
  const message =
    max === 2_147_483_647 ? `must be a whole number, ${min} or more` : `must be a whole number from ${min} to ${max}`;
  return z.custom<number>((value) => Number.isInteger(value) && Number(value) >= min && Number(value) <= max, message);
}

/** A text judged by a function that says what is wrong with it. */
function judged(check: (value: string) => Complaint): z.ZodType<string> {
  return z.string().superRefine((value, context) => {
    const complaint = check(value);
    if (complaint !== undefined) context.addIssue({ code: 'custom', message: complaint });
  });
}

export const nodeName = judged(checkDomain);
export const ip = judged((value) => (isIP(value) === 0 ? 'must be an IP address' : undefined));

/** Empty, or a domain with or without the dot at its end: it becomes a line of every pod's resolv.conf. */
export const domain = judged((value) => (value === '' ? undefined : checkDomain(value.replace(/\.$/, ''))));

/** Primary family first; a second address must be of the other family (reference 5.4). */
export const nodeIps = judgedList((values) => {
  if (values.length > 2) return 'must be one address, or one IPv4 and one IPv6 address';
  const families = values.map((value) => isIP(value));
  if (families.includes(0)) return 'must be IP addresses, separated by a comma';
  return families.length === 2 && families[0] === families[1] ? 'must be of two families if there are two' : undefined;
});

function judgedList(check: (values: readonly string[]) => Complaint): z.ZodType<string[], string> {
  return z
    .string()
    .transform(splitList)
    .superRefine((values, context) => {
      const complaint = check(values);
      if (complaint !== undefined) context.addIssue({ code: 'custom', message: complaint });
    });
}

export function splitList(value: string): string[] {
  return value
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** Empty means "not given", as in the kubelet's own files. */
export const podCidr = judged((value) => {
  if (value === '') return undefined;
  const cidr = parseCidr(value);
  if (cidr === undefined) return 'must be one network in CIDR form, such as 10.244.1.0/24';
  return isNetwork(cidr) ? undefined : 'must have no bits set behind the prefix';
});

/** Go's duration text → milliseconds. */
export function duration(minMs: number, maxMs = Number.POSITIVE_INFINITY): z.ZodType<number, string> {
  return z.string().transform((value, context) => {
    const ms = parseDuration(value);
    if (ms !== undefined && ms >= minMs && ms <= maxMs) return ms;
    const range =
      maxMs === Number.POSITIVE_INFINITY ? `of at least ${minMs / 1000}s` : `from ${minMs / 1000}s to ${maxMs / 1000}s`;
    context.addIssue({ code: 'custom', message: `must be a duration such as "10s" or "1m30s", ${range}` });
    return z.NEVER;
  });
}

const RESERVED_KEYS = ['cpu', 'memory', 'ephemeral-storage', 'pid'];

/** Keys cpu, memory, ephemeral-storage and pid; pid does not appear in the Node (reference 5.5). */
export const reserved: z.ZodType<ReservedResources, Record<string, string>> = z
  .record(z.string(), z.string())
  .transform((list, context) => {
    const unknown = Object.keys(list).find((key) => !RESERVED_KEYS.includes(key));
    if (unknown !== undefined) {
      const message = `must not have the key ${JSON.stringify(unknown)} (allowed: ${RESERVED_KEYS.join(', ')})`;
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    }
    try {
      const parsed = {
        cpuMilli: quantityToMilli(list['cpu'] ?? '0'),
        memoryBytes: quantityToBytes(list['memory'] ?? '0'),
        ephemeralBytes: quantityToBytes(list['ephemeral-storage'] ?? '0'),
      };
      if (Object.values(parsed).some((amount) => amount < 0)) throw new Error('negative');
      return parsed;
    } catch {
      context.addIssue({ code: 'custom', message: 'must hold quantities such as cpu 100m and memory 1Gi' });
      return z.NEVER;
    }
  });

export const taint: z.ZodType<Taint, { key: string; value?: string | undefined; effect: string }> = z
  .strictObject({ key: z.string(), value: z.string().optional(), effect: z.string() })
  .transform(({ key, value, effect }, context) => {
    const complaint = checkTaint({ key, effect, ...(value === undefined ? {} : { value }) });
    if (complaint === undefined && isEffect(effect))
      return { key, effect, ...(value === undefined || value === '' ? {} : { value }) };
    context.addIssue({ code: 'custom', message: `is not a taint: ${complaint}` });
    return z.NEVER;
  });

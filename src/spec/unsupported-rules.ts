import type { ProviderTraits } from '../../providers/contract/index.ts';
import { isRecord } from '../util/is-record.ts';

export interface Unsupported {
  /** As the API names fields: `spec.containers[0].resources.limits[nvidia.com/gpu]`. */
  readonly path: string;
  readonly why: string;
}

/** Judges one value of the raw JSON at its path. An absent value is never asked about. */
export type Rule = (value: unknown, path: string, traits: ProviderTraits) => Unsupported | undefined;

export const supported: Rule = () => undefined;

/** Nothing but "not set": what the API server writes for it (false, empty text, list or object) is fine. */
export function notYet(what: string): Rule {
  return (value, path) => (isEmpty(value) ? undefined : { path, why: `${what} not supported yet` });
}

export function oneOf(values: readonly unknown[]): Rule {
  return (value, path) =>
    values.includes(value) ? undefined : { path, why: `${JSON.stringify(value)} is not supported yet` };
}

export function each(rule: Rule): Rule {
  return (value, path, traits) => {
    if (!Array.isArray(value)) return undefined;
    for (const [i, item] of value.entries()) {
      const found = rule(item, `${path}[${i}]`, traits);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

/**
 * An object of which only these fields are known. Any other one is refused, also those that a later Kubernetes adds: a field
 * that is ignored would be a promise broken in silence.
 */
export function fields<T extends object>(
  rules: { readonly [K in keyof T]?: Rule },
  unknown: Rule = (_, path) => ({ path, why: 'this field is not known' }),
): Rule {
  const table = new Map<string, Rule>(Object.entries(rules));
  return (value, path, traits) => {
    if (!isRecord(value)) return undefined;
    for (const [name, rule] of table) {
      const found = isAbsent(value[name]) ? undefined : rule(value[name], `${path}.${name}`, traits);
      if (found !== undefined) return found;
    }
    const other = Object.keys(value).find((name) => !table.has(name) && !isAbsent(value[name]));
    return other === undefined ? undefined : unknown(value[other], `${path}.${other}`, traits);
  };
}

/** A map of which only these keys are known. */
export function keys(names: ReadonlySet<string>, why: string): Rule {
  return (value, path) => {
    const other = isRecord(value) ? Object.keys(value).find((key) => !names.has(key)) : undefined;
    return other === undefined ? undefined : { path: `${path}[${other}]`, why };
  };
}

/** Something that Outrigger does and a backend may be unable to do. */
export function provided(can: (traits: ProviderTraits) => boolean, what: string): Rule {
  return (_, path, traits) => (can(traits) ? undefined : { path, why: `the provider cannot ${what}` });
}

/** All of them, in order. */
export function both(...rules: readonly Rule[]): Rule {
  return (value, path, traits) => {
    for (const rule of rules) {
      const found = rule(value, path, traits);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

/** Values that ask for nothing are not put to the rule. */
export function unless(harmless: readonly unknown[], rule: Rule): Rule {
  return (value, path, traits) => (harmless.includes(value) ? undefined : rule(value, path, traits));
}

function isAbsent(value: unknown): boolean {
  return value === undefined || value === null;
}

function isEmpty(value: unknown): boolean {
  return (
    isAbsent(value) ||
    value === false ||
    value === '' ||
    (typeof value === 'object' && value !== null && Object.keys(value).length === 0)
  );
}

import { canonicalTime, isTime } from './log-time.ts';

/** PodLogOptions as far as the kubelet looks at them (reference 11.4). */
export interface LogOptions {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  /** Canonical time; records before it are left out. */
  readonly since?: string;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  /** Anything but `All` (or nothing) is refused. */
  readonly stream?: string;
}

export type DecodedOptions =
  | { readonly type: 'ok'; readonly options: LogOptions }
  | { readonly type: 'refused'; readonly code: 400 | 422; readonly body: string };

const UNDECODABLE: DecodedOptions = { type: 'refused', code: 400, body: '{"message": "Unable to decode query."}' };
const INVALID: DecodedOptions = { type: 'refused', code: 422, body: '{"message": "Invalid request."}' };

/** Of a repeated parameter only the first value counts, as in the API machinery's decoder. */
export function decodeLogOptions(query: URLSearchParams, nowMs: number): DecodedOptions {
  const tail = query.get('tail') ?? '';
  // `tail` is the old name of tailLines and wins over it; `all` is no limit.
  const tailLines = integer(tail === '' ? query.get('tailLines') : tail === 'all' ? null : tail);
  const limitBytes = integer(query.get('limitBytes'));
  const sinceSeconds = integer(query.get('sinceSeconds'));
  const sinceTime = time(query.get('sinceTime'));
  if (![tailLines, limitBytes, sinceSeconds, sinceTime].every(({ ok }) => ok)) return UNDECODABLE;

  const outOfRange = (tailLines.value ?? 0) < 0 || (limitBytes.value ?? 1) < 1 || (sinceSeconds.value ?? 1) < 1;
  if (outOfRange || (sinceSeconds.value !== undefined && sinceTime.value !== undefined)) return INVALID;

  const since = sinceSeconds.value === undefined ? sinceTime.value : secondsAgo(nowMs, sinceSeconds.value);
  const stream = query.get('stream');
  return {
    type: 'ok',
    options: {
      follow: flag(query.get('follow')),
      previous: flag(query.get('previous')),
      timestamps: flag(query.get('timestamps')),
      ...(since !== undefined && since !== '' && { since }),
      ...(tailLines.value !== undefined && { tailLines: tailLines.value }),
      ...(limitBytes.value !== undefined && { limitBytes: limitBytes.value }),
      ...(stream !== null && { stream }),
    },
  };
}

type Parsed<T> = { readonly ok: true; readonly value?: T } | { readonly ok: false; readonly value?: undefined };

/** Only absence, `0` and `false` are false; `?follow` alone is true. */
function flag(text: string | null): boolean {
  return text !== null && text !== '0' && text.toLowerCase() !== 'false';
}

const INT64_MAX = 2n ** 63n - 1n;

function integer(text: string | null): Parsed<number> {
  if (text === null) return { ok: true };
  if (!/^[+-]?\d{1,19}$/.test(text)) return { ok: false };
  const value = BigInt(text.replace('+', ''));
  // Nobody has that many lines or bytes: beyond 2^53 the exact number no longer matters.
  return value > INT64_MAX || value < -INT64_MAX - 1n ? { ok: false } : { ok: true, value: Number(value) };
}

/** `''` for the zero time, which leaves nothing out but still counts as given. */
function time(text: string | null): Parsed<string> {
  if (text === null) return { ok: true };
  if (text === '' || text === 'null') return { ok: true, value: '' };
  return isTime(text) ? { ok: true, value: canonicalTime(text) } : { ok: false };
}

function secondsAgo(nowMs: number, seconds: number): string {
  return canonicalTime(new Date(Math.max(0, nowMs - seconds * 1000)).toISOString());
}

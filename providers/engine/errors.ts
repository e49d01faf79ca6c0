import { ProviderError, type ProviderErrorCode } from '../contract/index.ts';

/** What dockerode throws for an answer that is not a success; parsed here and nowhere else. */
export interface EngineFailure {
  readonly status: number | undefined;
  /** The engine's own words. */
  readonly message: string;
  /** errno of a connection that failed ("ECONNREFUSED"). */
  readonly errno: string | undefined;
}

export function engineFailure(error: unknown): EngineFailure {
  if (!(error instanceof Error)) return { status: undefined, message: String(error), errno: undefined };
  // Foreign error: the fields are looked at one by one.
  const foreign = error as { statusCode?: unknown; json?: unknown; code?: unknown };
  const status = typeof foreign.statusCode === 'number' ? foreign.statusCode : undefined;
  const errno = typeof foreign.code === 'string' ? foreign.code : undefined;
  return { status, message: (messageOf(foreign.json) ?? withoutPrefix(error.message)).trim(), errno };
}

function messageOf(json: unknown): string | undefined {
  if (typeof json !== 'object' || json === null || !('message' in json)) return undefined;
  return typeof json.message === 'string' ? json.message : undefined;
}

/** docker-modem writes "(HTTP code 404) no such container - No such container: x ". */
function withoutPrefix(message: string): string {
  return message.replace(/^\(HTTP code \d+\) [^-]* - /, '');
}

const NO_ANSWER: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTCONN',
  'ERR_STREAM_PREMATURE_CLOSE',
  'ERR_SOCKET_CLOSED',
]);

function codeOf({ status, errno }: EngineFailure): ProviderErrorCode {
  if (status !== undefined) {
    if (status === 400) return 'InvalidSpec';
    if (status === 401) return 'Unauthorized';
    if (status === 404) return 'NotFound';
    if (status === 429) return 'Throttled';
    // A proxy or an engine that is only just starting; a plain 500 is an answer.
    if (status === 502 || status === 503 || status === 504) return 'Unavailable';
    return 'Internal';
  }
  if (errno === 'EACCES' || errno === 'EPERM') return 'Unauthorized';
  return errno !== undefined && NO_ANSWER.has(errno) ? 'Unavailable' : 'Internal';
}

export function toProviderError(error: unknown): ProviderError {
  if (error instanceof ProviderError) return error;
  const failure = engineFailure(error);
  const code = codeOf(failure);
  const message = code === 'Unavailable' ? `cannot reach the engine: ${failure.message}` : failure.message;
  return new ProviderError(code, message, { cause: error });
}

/** The same failure under another code and reason; what the engine could not be asked about keeps its code. */
export function recoded(error: unknown, reason: string, code?: ProviderErrorCode): unknown {
  if (!(error instanceof ProviderError)) return error;
  if (error.code === 'Unavailable' || error.code === 'Unauthorized') return error;
  return new ProviderError(code ?? error.code, error.message, { cause: error, reason });
}

/** HTTP status of the engine's answer behind a ProviderError. */
export function statusBehind(error: unknown): number | undefined {
  return error instanceof ProviderError && error.cause !== undefined ? engineFailure(error.cause).status : undefined;
}

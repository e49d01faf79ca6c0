/** The API server answered with something else than success. Branch on `status` and `reason`, never on the message. */
export class KubeError extends Error {
  override readonly name = 'KubeError';
  /** HTTP status, or `code` of the Status object in a watch. */
  readonly status: number;
  /** Machine-readable word of the Status object (`NotFound`, `Conflict`, `Expired`); empty when the body was no Status. */
  readonly reason: string;
  readonly details: StatusDetails | undefined;
  /** From the Retry-After header: when the server wants to be asked again. */
  readonly retryAfterMs: number | undefined;

  constructor(status: number, body: StatusBody, fallbackMessage: string, retryAfterMs?: number) {
    super(body.message ?? fallbackMessage);
    this.status = status;
    this.reason = body.reason ?? '';
    this.details = body.details;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No answer, or half an answer: refused, reset, timed out, TLS failure. Whether a write was applied is not known. */
export class ApiUnreachable extends Error {
  override readonly name = 'ApiUnreachable';
  /** A kept socket that the server had closed meanwhile: the request never reached it. */
  readonly stale: boolean;

  constructor(message: string, options: ErrorOptions & { readonly stale?: boolean } = {}) {
    super(message, options);
    this.stale = options.stale === true;
  }
}

interface StatusDetails {
  readonly name?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly { readonly reason?: string; readonly message?: string; readonly field?: string }[];
}

export interface StatusBody {
  readonly message?: string;
  readonly reason?: string;
  readonly code?: number;
  readonly details?: StatusDetails;
}

/** Error bodies are Status objects, except from proxies in between: anything else becomes the message. */
export function parseStatusBody(text: string): StatusBody {
  try {
    const body: unknown = JSON.parse(text);
    // The edge where a foreign body is parsed: `kind` tells that the other fields have the types of a Status.
    if (typeof body === 'object' && body !== null && 'kind' in body && body.kind === 'Status')
      return body as StatusBody;
  } catch {
    // Not JSON: the text itself says what is wrong.
  }
  const line = text.trim().slice(0, 500);
  return line === '' ? {} : { message: line };
}

export function isNotFound(error: unknown): boolean {
  return error instanceof KubeError && error.status === 404;
}

export function isConflict(error: unknown): boolean {
  return error instanceof KubeError && error.status === 409;
}

/** The resource version (or the continue token) is older than what the server remembers. */
export function isExpired(error: unknown): boolean {
  return error instanceof KubeError && (error.status === 410 || error.reason === 'Expired' || error.reason === 'Gone');
}

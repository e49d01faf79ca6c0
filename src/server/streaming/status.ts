/** What the error stream says at the end of exec and attach: metav1.Status as far as it is used (reference 11.11). */
export interface StreamStatus {
  readonly metadata: Readonly<Record<string, never>>;
  readonly status: 'Success' | 'Failure';
  readonly message?: string;
  readonly reason?: 'NonZeroExitCode' | 'InternalError';
  readonly details?: { readonly causes: readonly { readonly reason: string; readonly message: string }[] };
  readonly code?: number;
}

export function successStatus(): StreamStatus {
  return { metadata: {}, status: 'Success' };
}

/** kubectl takes its own exit code from the cause, as 8 bits without a sign. */
export function exitStatus(exitCode: number): StreamStatus {
  if (exitCode === 0) return successStatus();
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
  };
}

export function internalStatus(message: string): StreamStatus {
  return {
    metadata: {},
    status: 'Failure',
    message: `Internal error occurred: ${message}`,
    reason: 'InternalError',
    code: 500,
  };
}

/** Versions 4 and 5 send JSON always, the older ones the message of a failure as plain text and nothing for a success. */
export function statusText(status: StreamStatus, version: number): string {
  if (version >= 4) return JSON.stringify(status);
  return status.status === 'Success' ? '' : (status.message ?? '');
}

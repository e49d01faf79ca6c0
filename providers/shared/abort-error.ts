/** What an aborted call of a provider rejects with: the signal's reason if that says so, else an error that has it as its cause. */
export function abortError(signal: AbortSignal): Error {
  const reason: unknown = signal.reason;
  if (reason instanceof Error && reason.name === 'AbortError') return reason;
  const error = new Error('the call was aborted', { cause: reason });
  error.name = 'AbortError';
  return error;
}

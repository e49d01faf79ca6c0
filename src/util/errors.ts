/** The text of anything that was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A failure that is the user's to mend (flag, file, environment): printed as one line, exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

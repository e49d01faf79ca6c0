/** What is shown instead of them while `enableDebuggingHandlers` is false, and on the read-only port (reference 11.2). */
export const DEBUG_DISABLED = { code: 405, body: 'Debug endpoints are disabled.\n' } as const;

const DISABLED = [
  '/run/',
  '/exec/',
  '/attach/',
  '/portForward/',
  '/containerLogs/',
  '/runningpods/',
  '/debug/pprof/',
  '/logs/',
];

/**
 * Whether a path (decoded, without query) is one of those that answer DEBUG_DISABLED when debugging handlers are off. Plain
 * requests and upgrades ask the same question, after access was granted. Others (configz, checkpoint, flagz, statusz) do not
 * exist then.
 */
export function debugDisabled(path: string): boolean {
  return DISABLED.some((prefix) => path.startsWith(prefix) || `${path}/` === prefix);
}

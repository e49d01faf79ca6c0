import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
  /** One text for each failure: what failed, and why. */
  readonly failures: readonly string[];
}

const report = z.object({
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  numPendingTests: z.number(),
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().optional(),
      assertionResults: z.array(
        z.object({ status: z.string(), fullName: z.string(), failureMessages: z.array(z.string()).nullish() }),
      ),
    }),
  ),
});

/** Lines of an error that are worth repeating at the end of a long output. */
const SHOWN_LINES = 12;

/**
 * Counts of a JSON report of vitest. A file that failed without a failed test (it could not be loaded, a hook threw) is one failure,
 * and so is a run that failed and does not say why.
 */
export function readCounts(project: string, file: string, exitCode: number): Counts {
  if (!existsSync(file)) return exitCode === 0 ? NO_COUNTS : failedRun(project, exitCode);
  const parsed = report.parse(JSON.parse(readFileSync(file, 'utf8')));
  const failures = parsed.testResults.flatMap(({ name, status, message = '', assertionResults }) => {
    const failed = assertionResults.filter((assertion) => assertion.status === 'failed');
    if (failed.length === 0 && status === 'failed') return [failureText(name, message)];
    return failed.map(({ fullName, failureMessages }) =>
      failureText(`${name} > ${fullName}`, (failureMessages ?? []).join('\n')),
    );
  });
  const counts = { passed: parsed.numPassedTests, skipped: parsed.numPendingTests };
  if (failures.length > 0 || exitCode === 0) return { ...counts, failed: failures.length, failures };
  // An error outside every test, such as a rejection that nobody handled: vitest has printed it above.
  return { ...failedRun(project, exitCode), ...counts };
}

export function failedRun(what: string, exitCode: number): Counts {
  return { ...NO_COUNTS, failed: 1, failures: [`${what} ended with exit code ${exitCode} without a failed test`] };
}

function failureText(what: string, message: string): string {
  const lines = message.split('\n').slice(0, SHOWN_LINES);
  return [what, ...lines.map((line) => `    ${line}`)].join('\n');
}

export const NO_COUNTS: Counts = { passed: 0, failed: 0, skipped: 0, failures: [] };

export function sum(counts: readonly Counts[]): Counts {
  return counts.reduce(
    (total, { passed, failed, skipped, failures }) => ({
      passed: total.passed + passed,
      failed: total.failed + failed,
      skipped: total.skipped + skipped,
      failures: [...total.failures, ...failures],
    }),
    NO_COUNTS,
  );
}

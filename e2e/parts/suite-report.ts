import { existsSync, readFileSync } from 'node:fs';
import { z } from 'zod';

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const report = z.object({
  numPassedTests: z.number(),
  numFailedTests: z.number(),
  numPendingTests: z.number(),
  testResults: z.array(z.object({ status: z.string(), assertionResults: z.array(z.object({ status: z.string() })) })),
});

/**
 * Counts of a JSON report of vitest. A file that failed without a failed test (it could not be loaded, a hook threw) is one failure,
 * and so is a run that failed and does not say why.
 */
export function readCounts(file: string, exitCode: number): Counts {
  if (!existsSync(file)) return { passed: 0, failed: exitCode === 0 ? 0 : 1, skipped: 0 };
  const parsed = report.parse(JSON.parse(readFileSync(file, 'utf8')));
  const broken = parsed.testResults.filter(
    ({ status, assertionResults }) =>
      status === 'failed' && !assertionResults.some((assertion) => assertion.status === 'failed'),
  ).length;
  const failed = parsed.numFailedTests + broken;
  return {
    passed: parsed.numPassedTests,
    failed: failed === 0 && exitCode !== 0 ? 1 : failed,
    skipped: parsed.numPendingTests,
  };
}

export function sum(counts: readonly Counts[]): Counts {
  return counts.reduce(
    (total, { passed, failed, skipped }) => ({
      passed: total.passed + passed,
      failed: total.failed + failed,
      skipped: total.skipped + skipped,
    }),
    { passed: 0, failed: 0, skipped: 0 },
  );
}

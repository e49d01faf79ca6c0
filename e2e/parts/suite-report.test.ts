import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readCounts, sum } from './suite-report.ts';

const dir = mkdtempSync(join(tmpdir(), 'outrigger-report-'));
afterAll(() => rmSync(dir, { recursive: true }));

function write(content: object): string {
  const file = join(dir, 'report.json');
  writeFileSync(file, JSON.stringify(content));
  return file;
}

const passed = { status: 'passed', assertionResults: [{ status: 'passed' }] };

describe('the counts of a test report', () => {
  it('are those of the runner when all is well', () => {
    const file = write({ numPassedTests: 1, numFailedTests: 0, numPendingTests: 2, testResults: [passed] });
    expect(readCounts(file, 0)).toEqual({ passed: 1, failed: 0, skipped: 2 });
  });

  it('count a file that could not be loaded as one failure', () => {
    const broken = { status: 'failed', assertionResults: [] };
    const file = write({ numPassedTests: 1, numFailedTests: 0, numPendingTests: 0, testResults: [passed, broken] });
    expect(readCounts(file, 1).failed).toBe(1);
  });

  it('count a run that failed for no test as one failure', () => {
    const file = write({ numPassedTests: 1, numFailedTests: 0, numPendingTests: 0, testResults: [passed] });
    expect(readCounts(file, 1)).toEqual({ passed: 1, failed: 1, skipped: 0 });
  });

  it('count a run that left no report as one failure', () => {
    expect(readCounts(join(dir, 'absent.json'), 1)).toEqual({ passed: 0, failed: 1, skipped: 0 });
  });

  it('add up over suites', () => {
    const one = { passed: 1, failed: 2, skipped: 3 };
    expect(sum([one, one])).toEqual({ passed: 2, failed: 4, skipped: 6 });
  });
});

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

const passed = { name: 'a.test.ts', status: 'passed', assertionResults: [{ status: 'passed', fullName: 'works' }] };
const suite = 'unit tests';

describe('the counts of a test report', () => {
  it('are those of the runner when all is well', () => {
    const file = write({ numPassedTests: 1, numFailedTests: 0, numPendingTests: 2, testResults: [passed] });
    expect(readCounts(suite, file, 0)).toEqual({ passed: 1, failed: 0, skipped: 2, failures: [] });
  });

  it('name a test that failed, and the beginning of why', () => {
    const message = Array.from({ length: 100 }, (_, line) => `line ${line}`).join('\n');
    const failed = { status: 'failed', fullName: 'adds up', failureMessages: [message] };
    const broken = { name: 'b.test.ts', status: 'failed', assertionResults: [failed] };
    const file = write({ numPassedTests: 1, numFailedTests: 1, numPendingTests: 0, testResults: [passed, broken] });
    const counts = readCounts(suite, file, 1);
    expect(counts).toMatchObject({ passed: 1, failed: 1 });
    expect(counts.failures).toHaveLength(1);
    expect(counts.failures[0]).toMatch(/^b\.test\.ts > adds up\n {4}line 0\n/);
    expect(counts.failures[0]?.split('\n').length).toBeLessThan(20);
  });

  it('count a file that could not be loaded as one failure', () => {
    const broken = { name: 'b.test.ts', status: 'failed', message: 'no such module', assertionResults: [] };
    const file = write({ numPassedTests: 1, numFailedTests: 0, numPendingTests: 0, testResults: [passed, broken] });
    expect(readCounts(suite, file, 1)).toMatchObject({ failed: 1, failures: ['b.test.ts\n    no such module'] });
  });

  it('count a run that failed for no test as one failure', () => {
    const file = write({ numPassedTests: 1, numFailedTests: 0, numPendingTests: 0, testResults: [passed] });
    const failures = ['unit tests ended with exit code 1 without a failed test'];
    expect(readCounts(suite, file, 1)).toEqual({ passed: 1, failed: 1, skipped: 0, failures });
  });

  it('count a run that left no report as one failure', () => {
    expect(readCounts(suite, join(dir, 'absent.json'), 1)).toMatchObject({ passed: 0, failed: 1, skipped: 0 });
  });

  it('add up over suites', () => {
    const one = { passed: 1, failed: 2, skipped: 3, failures: ['a'] };
    expect(sum([one, one])).toEqual({ passed: 2, failed: 4, skipped: 6, failures: ['a', 'a'] });
  });
});

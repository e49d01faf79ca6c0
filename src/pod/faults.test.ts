import { describe, expect, it } from 'vitest';
import { PROVIDER_ERROR_CODES, ProviderError } from '../../providers/contract/index.ts';
import { makePod, POD_UID } from '../testing/builders.ts';
import { Harness } from '../testing/harness.ts';
import { PROVIDER_METHODS } from '../testing/provider-methods.ts';

const CASES = (['container', 'pod'] as const).flatMap((kind) =>
  PROVIDER_METHODS[kind].flatMap((method) => PROVIDER_ERROR_CODES.map((code) => ({ kind, method, code }))),
);

const pod = () => makePod({ spec: { enableServiceLinks: true } });

describe.each(CASES)('$method of a $kind-level backend that answers $code', ({ kind, method, code }) => {
  /** A container that crashes once, so that old incarnations have to be removed, too. */
  async function started(times: number): Promise<Harness> {
    const harness = new Harness({ kind });
    for (const attempt of [0, 1, 2]) harness.backend.script({ attempt }, { exitAfterMs: 1_000, exitCode: 1 });
    await harness.start();
    harness.backend.faults.failNext(method, new ProviderError(code, 'told to fail'), times);
    await harness.create(pod());
    return harness;
  }

  it('runs the pod in the end, or ends it with a reason', async () => {
    const harness = await started(3);
    await harness.clock.advance(180_000);
    const { phase, reason } = harness.status(POD_UID);
    if (phase !== 'Running') expect({ phase, reason }).toEqual({ phase: 'Failed', reason: 'ProviderUnsupported' });
    await harness.delete(POD_UID, 1);
    await harness.clock.advance(60_000);
    expect(harness.objects.has(POD_UID)).toBe(false);
    expect(harness.backend.pods.size).toBe(0);
  });

  it('is not asked all the time while it goes on failing', async () => {
    const harness = await started(10_000);
    await harness.clock.advance(300_000);
    await harness.delete(POD_UID, 1);
    await harness.clock.advance(300_000);
    // One call in three seconds is patience enough; a loop makes thousands.
    expect(harness.backend.faults.calls.length).toBeLessThan(600);
  });
});

it.each([
  ['container', 'ensureSandbox', 'pod cannot be set up'],
  ['container', 'startContainer', 'container cannot be started'],
  ['pod', 'launchPod', 'pod cannot be set up'],
] as const)(
  'on a %s-level backend %s that fails each time warns once, and then only tells those who look closer',
  async (kind, method, line) => {
    const harness = new Harness({ kind });
    await harness.start();
    harness.backend.faults.failNext(method, new ProviderError('Internal', 'told to fail'), 3);
    await harness.create(pod());
    await harness.clock.advance(60_000);
    expect(harness.status(POD_UID).phase).toBe('Running');
    expect(harness.lines.filter((said) => said.includes(line))).toEqual([
      `warn ${line}`,
      `debug ${line}`,
      `debug ${line}`,
    ]);
    await harness.crash();
  },
);

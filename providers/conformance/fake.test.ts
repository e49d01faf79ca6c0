import { FakeClock } from '../../src/testing/fake-clock.ts';
import { FakeBackend } from '../fake/backend.ts';
import { FakeContainerProvider } from '../fake/container-provider.ts';
import { FakePodProvider } from '../fake/pod-provider.ts';
import { parseConfig } from '../fake/schema.ts';
import { BROKEN, type ConformanceHarness } from './harness.ts';
import { conformance } from './suite.ts';

function fakeHarness(config: unknown): () => Promise<ConformanceHarness> {
  return async () => {
    const clock = new FakeClock();
    const backend = new FakeBackend(clock, parseConfig(config));
    backend.script(
      { container: BROKEN.name },
      { startError: `exec: "${BROKEN.command[0]}": no such file or directory` },
    );
    return {
      open: async (node) => {
        const context = { nodeName: node, ownerLabels: { 'outrigger/node': node, 'outrigger/format': '1' } };
        return backend.config.kind === 'pod'
          ? new FakePodProvider(backend, context)
          : new FakeContainerProvider(backend, context);
      },
      pass: (ms) => clock.advance(ms),
      subnet: () => '10.200.0.0/24',
      shellImage: 'shell:1',
      missingImage: 'missing:1',
      logsKeepBytes: true,
      executesShell: false,
      enforcesLimits: false,
      dispose: async () => backend.dispose(),
    };
  };
}

const images = ['shell:1'];

conformance('fake, container level', 'container', fakeHarness({ kind: 'container', images }));
conformance(
  'fake, pod level, containers restarted by the backend',
  'pod',
  fakeHarness({ kind: 'pod', containerRestart: 'backend', images }),
);
conformance(
  'fake, pod level, one exit ends the unit',
  'pod',
  fakeHarness({ kind: 'pod', containerRestart: 'none', images }),
);

import { FakeClock } from '../../src/testing/fake-clock.ts';
import { FakeBackend } from '../fake/backend.ts';
import { FakeContainerProvider } from '../fake/container-provider.ts';
import { FakePodProvider } from '../fake/pod-provider.ts';
import { parseConfig, parseServers } from '../fake/schema.ts';
import { BROKEN, type ConformanceHarness, PORTS, SERVERS } from './harness.ts';
import { conformance } from './suite.ts';

/** What the commands of SERVERS would do. */
const SERVING = parseServers([
  { port: PORTS.echo, does: 'echo' },
  { port: PORTS.local, does: 'echo', on: 'loopback' },
  { port: PORTS.banner, does: 'hello', on: 'loopback', banner: 'banner\n' },
  { port: PORTS.count, does: 'count' },
  { port: PORTS.hello, does: 'hello', on: 'loopback', banner: 'hello\n' },
  { port: PORTS.deaf, does: 'silent' },
  { port: PORTS.last, does: 'echo' },
]);

function fakeHarness(config: unknown): () => Promise<ConformanceHarness> {
  return async () => {
    const clock = new FakeClock();
    const backend = new FakeBackend(clock, parseConfig(config));
    backend.script(
      { container: BROKEN.name },
      { startError: `exec: "${BROKEN.command[0]}": no such file or directory` },
    );
    backend.script({ container: SERVERS.name }, { listen: [...SERVING] });
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
      manyConnections: 100,
      dialKeepsHalves: true,
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

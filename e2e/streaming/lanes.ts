import { expect } from 'vitest';
import { matrix } from '../matrix.ts';
import type { Scene } from '../scene.ts';
import { Kubectl } from './kubectl.ts';
import type { Lane } from './lane.ts';

/** What the server has to see of kubectl's streams in each lane: a broken WebSocket would hide behind kubectl's own fallback. */
const EXPECTED = {
  T: { command: 'spdy v4.channel.k8s.io', forward: 'spdy portforward.k8s.io' },
  W: { command: 'websocket v5.channel.k8s.io', forward: 'websocket SPDY/3.1+portforward.k8s.io' },
  R: { command: 'spdy v4.channel.k8s.io', forward: 'spdy portforward.k8s.io' },
} as const satisfies Record<Lane, object>;

type Body = (scene: Scene, kubectl: Kubectl) => Promise<void>;

export interface StreamSuite {
  test(name: string, body: Body): void;
}

/** Each test in each lane: on a node that takes WebSockets, and on one that does not say so, whose streams the API server translates. */
export function streamMatrix(
  subject: string,
  kind: keyof (typeof EXPECTED)['T'],
  define: (suite: StreamSuite) => void,
) {
  const lanes = (suite: { test(name: string, body: (scene: Scene) => Promise<void>): void }, names: readonly Lane[]) =>
    define({
      test(name, body) {
        for (const lane of names) {
          suite.test(`${name} (lane ${lane})`, async (scene) => {
            await body(scene, new Kubectl(scene, lane));
            const seen = new Set(streams(scene).map(({ transport, protocol }) => `${transport} ${protocol}`));
            expect([...seen]).toEqual([EXPECTED[lane][kind]]);
          });
        }
      },
    });
  matrix(subject, (suite) => lanes(suite, ['W', 'R']), { needs: ['realContainers'] });
  matrix(`${subject} translated`, (suite) => lanes(suite, ['T']), {
    needs: ['realContainers'],
    args: ['--feature-gates=ExtendWebSocketsToKubelet=false'],
  });
}

interface Stream {
  readonly path: string;
  readonly transport: string;
  readonly protocol: string;
}

/** Streams of the scene's namespace that the node has logged so far, by their beginning or their end. */
export function streams({ outrigger, namespace }: Scene, message: 'opened' | 'closed' = 'opened'): readonly Stream[] {
  return outrigger
    .log()
    .split('\n')
    .filter((line) => line.includes(`"stream ${message}"`) && line.includes(`/${namespace}/`))
    .map((line): Stream => JSON.parse(line));
}

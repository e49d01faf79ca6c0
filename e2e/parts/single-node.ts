import { join } from 'node:path';
import { type Binary, buildBinaries } from './build.ts';
import { type ControlPlane, startControlPlane } from './control-plane.ts';
import { ensureEngine } from './dockerd.ts';
import { ensureImages, type ImageName } from './images.ts';
import { type Outrigger, startNode } from './outrigger.ts';
import { REPOSITORY } from './paths.ts';
import type { Progress } from './progress.ts';
import { cleanDeadRuns, Run } from './runs.ts';

export interface SingleNodeOptions {
  /** Names the run and the folder below .outrigger/logs where its logs are kept. */
  readonly kind: string;
  readonly nodeName: string;
  readonly args?: readonly string[];
  /** Built before anything is started. */
  readonly binaries?: readonly Binary[];
  readonly images: readonly ImageName[];
}

export interface SingleNode {
  readonly plane: ControlPlane;
  readonly node: Outrigger;
  readonly signal: AbortSignal;
}

/** A fresh control plane with one fresh Docker node for the time of `work`; nothing of it is left, also when interrupted. */
export async function withSingleNode<T>(
  { kind, nodeName, args = [], binaries = [], images }: SingleNodeOptions,
  progress: Progress,
  work: (node: SingleNode) => Promise<T>,
): Promise<T> {
  const interrupted = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => interrupted.abort());
  const { signal } = interrupted;
  await cleanDeadRuns(progress);
  const engine = await ensureEngine(progress);
  const run = Run.open(kind);
  try {
    await buildBinaries(binaries, progress);
    await ensureImages(engine.docker, images, progress);
    signal.throwIfAborted();
    const plane = await startControlPlane({ dir: join(run.dir, 'plane'), progress });
    signal.throwIfAborted();
    run.addNode(nodeName, engine.socket);
    const node = await progress.during(`starting the node ${nodeName}`, () => startNode({ plane, nodeName, args }));
    const kube = await plane.kube();
    await node.waitReady(kube);
    kube.close();
    return await work({ plane, node, signal });
  } finally {
    run.keepLogs(join(REPOSITORY, '.outrigger/logs', kind));
    await run.close();
    await engine.release();
  }
}

import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { startControlPlane } from './parts/control-plane.ts';
import { ensureEngine } from './parts/dockerd.ts';
import { ensureImages } from './parts/images.ts';
import { REPOSITORY } from './parts/paths.ts';
import { Progress } from './parts/progress.ts';
import { cleanDeadRuns, Run } from './parts/runs.ts';
import type {} from './parts/test-bed.ts';

/** Vitest's global setup: one Docker engine, its images and one control plane for all test files of a project. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const progress = new Progress();
  await cleanDeadRuns(progress);
  const engine = await ensureEngine(progress);
  const run = Run.open(project.name || 'tests');
  const close = async (): Promise<void> => {
    run.keepLogs(join(REPOSITORY, '.outrigger/logs', project.name || 'tests'));
    await run.close();
    await engine.release();
  };
  try {
    await ensureImages(engine.docker, ['pause', 'busybox', 'hello'], progress);
    const plane = await startControlPlane({ dir: join(run.dir, 'plane'), progress });
    project.provide('testBed', { runDir: run.dir, planeDir: plane.dir, socket: engine.socket });
    return async () => {
      await plane.stop();
      await close();
    };
  } catch (error) {
    await close();
    throw error;
  }
}

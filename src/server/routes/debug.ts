import { Router } from 'express';
import { type CheckpointDeps, checkpointRoutes } from './checkpoint.ts';
import { type ConfigzDeps, configzRoutes } from './configz.ts';
import { type DebugFlagsDeps, debugFlagsRoutes } from './debug-flags.ts';
import { type ProfilingDeps, profilingRoutes } from './profiling.ts';
import { type RunningPodsDeps, runningPodsRoutes } from './running-pods.ts';
import { type SystemLogsDeps, systemLogsRoutes } from './system-logs.ts';
import { type ZpagesDeps, zpagesRoutes } from './zpages.ts';

/** Everything about the node itself that is shown with `enableDebuggingHandlers` only (reference 11.2). */
export interface DebugDeps
  extends CheckpointDeps,
    ConfigzDeps,
    DebugFlagsDeps,
    ProfilingDeps,
    RunningPodsDeps,
    SystemLogsDeps,
    ZpagesDeps {}

export function debugRoutes(deps: DebugDeps): Router {
  const router = Router();
  router.use(runningPodsRoutes(deps));
  router.use(configzRoutes(deps));
  router.use(checkpointRoutes(deps));
  router.use(systemLogsRoutes(deps));
  router.use(profilingRoutes(deps));
  router.use(debugFlagsRoutes(deps));
  router.use(zpagesRoutes(deps));
  return router;
}

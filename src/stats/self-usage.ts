import type { SelfUsage } from './sampler.ts';

/** What this process has used so far, whichever nodes it serves. */
export function selfUsage(): SelfUsage {
  const { user, system } = process.cpuUsage();
  return {
    startedMs: performance.timeOrigin,
    cpuNanos: (user + system) * 1000,
    rssBytes: process.memoryUsage.rss(),
  };
}

import { capabilityBlocks } from './capabilities.ts';
import { configurationBlocks } from './configuration.ts';
import type { Blocks } from './document.ts';
import { metricBlocks } from './metrics.ts';

/** Pages that hold text made from the code. */
export const PAGES: Readonly<Record<string, () => Promise<Blocks>>> = {
  'docs/configuration.md': configurationBlocks,
  'docs/metrics.md': metricBlocks,
  'docs/providers.md': capabilityBlocks,
};

import { capabilityBlocks } from './capabilities.ts';
import { configurationBlocks } from './configuration.ts';
import type { Blocks } from './document.ts';

/** Pages that hold text made from the code. */
export const PAGES: Readonly<Record<string, () => Promise<Blocks>>> = {
  'docs/configuration.md': configurationBlocks,
  'docs/providers.md': capabilityBlocks,
};

import type { ConfigDocuments } from './documents.ts';
import type { LoadEnvironment } from './environment.ts';
import type { Flags } from './flags.ts';
import type { KubeletDocument } from './schema.ts';

/** What the configuration of a node is made from. */
export interface NodeSources {
  /** Its file paths are absolute already, flags that are not of one node are in it already. */
  readonly kubelet: KubeletDocument;
  readonly flags: Flags;
  readonly file: ConfigDocuments & { readonly path?: string };
  readonly environment: LoadEnvironment;
}

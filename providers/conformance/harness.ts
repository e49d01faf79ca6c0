import type { Provider } from '../contract/index.ts';

/** One backend to try a provider on. What a backend cannot do is said here or by the provider's traits and facets. */
export interface ConformanceHarness {
  /** A provider of node `node` on this backend. Called again for the same node it is the process after a restart. */
  open(node: string): Promise<Provider>;
  /** Lets time pass on the backend and here. */
  pass(ms: number): Promise<void>;
  /** Pod network of a node, where the provider's trait asks for one. */
  subnet(node: string): string;
  /** An image with a POSIX shell, cat, id, ls, pwd. */
  readonly shellImage: string;
  /** A reference that no registry has. */
  readonly missingImage: string;
  /** False where commands are not really run: only `sleep`, `exit`, `echo`, `trap` of a straight `sh -c` then count. */
  readonly executesShell: boolean;
  /** Whether logs give back bytes that are no UTF-8. */
  readonly logsKeepBytes: boolean;
  /** Whether memory and process limits are really held. */
  readonly enforcesLimits: boolean;
  dispose(): Promise<void>;
}

/** The node of most cases; one provider serves them all, as in a process. */
export const NODE = 'conformance-a';
/** A second node on the same backend, so that ownership can be tried. */
export const OTHER_NODE = 'conformance-b';
/** A node that is closed and opened again. */
export const RESTARTED_NODE = 'conformance-c';

/** A program that cannot be started: every container of this name has it as its command. */
export const BROKEN = { name: 'broken', command: ['/no/such/program'] } as const;

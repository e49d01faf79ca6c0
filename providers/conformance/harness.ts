import type { Provider } from '../contract/index.ts';

/** One backend to try a provider on. What a backend cannot do is said here or by the provider's traits and facets. */
export interface ConformanceHarness {
  /** A provider of node `node` on this backend. Called again for the same node it is the process after a restart. */
  open(node: string): Promise<Provider>;
  /** Lets time pass on the backend and here. */
  pass(ms: number): Promise<void>;
  /** Pod network of a node, where the provider's trait asks for one. */
  subnet(node: string): string;
  /** An image with a POSIX shell, cat, id, ls, pwd, wc and the nc of busybox. */
  readonly shellImage: string;
  /** A reference that no registry has. */
  readonly missingImage: string;
  /** False where commands are not really run: only `sleep`, `exit`, `echo`, `trap` of a straight `sh -c` then count. */
  readonly executesShell: boolean;
  /** Whether logs give back bytes that are no UTF-8. */
  readonly logsKeepBytes: boolean;
  /** Whether memory and process limits are really held. */
  readonly enforcesLimits: boolean;
  /** Of a pod, dialled and open at once. */
  readonly manyConnections: number;
  /** False where a dialled connection ends with the target's output. */
  readonly dialKeepsHalves: boolean;
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

export const PORTS = {
  echo: 7000,
  /** Echo, on 127.0.0.1 only. */
  local: 7001,
  banner: 7002,
  /** Answers with the number of bytes, after the end of the input. */
  count: 7003,
  /** Ends its output and goes on reading. */
  hello: 7004,
  /** Never reads. */
  deaf: 7005,
  closed: 7009,
  last: 7010,
} as const;

/** A container with a server on each of the ports; where commands are not really run, the harness sees to it by its name. */
export const SERVERS = {
  name: 'servers',
  command: [
    'sh',
    '-c',
    [
      `nc -ll -p ${PORTS.echo} -e cat`,
      `nc -ll -p ${PORTS.local} 127.0.0.1 -e cat`,
      `nc -ll -p ${PORTS.banner} 127.0.0.1 -e echo banner`,
      `nc -ll -p ${PORTS.count} -e wc -c`,
      `echo hello | nc -l -p ${PORTS.hello} 127.0.0.1`,
      `nc -ll -p ${PORTS.deaf} -e sleep 3600`,
      `sleep 0.2; nc -ll -p ${PORTS.last} -e cat`,
      'wait',
    ].join(' & '),
  ],
} as const;

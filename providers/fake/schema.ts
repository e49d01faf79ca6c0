import { z } from 'zod';
import { UsageError } from '../../src/util/errors.ts';
import { PROVIDER_ERROR_CODES } from '../contract/index.ts';

const logLine = z.strictObject({
  text: z.string(),
  stream: z.enum(['stdout', 'stderr']).default('stdout'),
  /** Milliseconds after the container's start. */
  afterMs: z.number().nonnegative().default(0),
  partial: z.boolean().default(false),
});

/** What a command run in the container does instead of being read; `command` is its words joined by spaces, absent: every one. */
const execAnswer = z.strictObject({
  command: z.string().optional(),
  stdout: z.string().optional(),
  stderr: z.string().optional(),
  exitCode: z.int().min(0).max(255).optional(),
  /** Time between its output and its end. */
  afterMs: z.number().nonnegative().optional(),
  /** It cannot be started, with these words. */
  startError: z.string().optional(),
});

/** A server of the container, for probes, hooks and port-forward. */
const server = z.strictObject({
  port: z.int().min(1).max(65535),
  /** `loopback`: only port-forward gets there. */
  on: z.enum(['all', 'loopback']).default('all'),
  /**
   * http: one answer to one request; grpc: the health service; echo: what came goes back; count: after the end of the input, how many
   * bytes it had; hello: nothing after the banner; silent: takes the connection and no more; refuse, reset: a port that is closed, a
   * connection that breaks; drop: the connect is never answered.
   */
  does: z.enum(['http', 'grpc', 'echo', 'count', 'hello', 'silent', 'refuse', 'reset', 'drop']).default('http'),
  /** Said first. */
  banner: z.string().optional(),
  /** Before an answer. */
  delayMs: z.number().nonnegative().optional(),
  status: z.int().min(200).max(599).default(200),
  body: z.string().default('ok'),
  headers: z.record(z.string(), z.string()).default({}),
  serving: z.boolean().default(true),
  grpcStatus: z.int().min(0).max(16).default(0),
});

/** What a container uses as long as it runs. */
const useSchema = z.strictObject({
  /** Thousandths of a core. */
  cpuMilli: z.number().nonnegative().optional(),
  memoryBytes: z.number().nonnegative().optional(),
  processes: z.int().positive().optional(),
  rxBytesPerSecond: z.number().nonnegative().optional(),
  txBytesPerSecond: z.number().nonnegative().optional(),
  rootfsBytes: z.number().nonnegative().optional(),
  logsBytes: z.number().nonnegative().optional(),
  /** By the name of the volume. */
  volumeBytes: z.record(z.string(), z.number().nonnegative()).optional(),
});

export type FakeUse = z.infer<typeof useSchema>;

/** What one container does. Everything is optional: the empty script runs until it is stopped. */
const scriptSchema = z.strictObject({
  /** Absent: runs until it is stopped. */
  exitAfterMs: z.number().nonnegative().optional(),
  exitCode: z.int().min(0).max(255).optional(),
  /** Ends by this signal: exit code 128 + signal unless exitCode says otherwise. */
  signal: z.int().min(1).max(64).optional(),
  oomKilled: z.boolean().optional(),
  /** Termination message of an exit of its own. */
  message: z.string().optional(),
  /** Only a stop with grace 0 ends it. */
  ignoreStop: z.boolean().optional(),
  /** Time between the stop signal and the exit. */
  stopAfterMs: z.number().nonnegative().optional(),
  /** Exit code after a stop signal; 143 when absent, as for a program that does not catch SIGTERM. */
  stopExitCode: z.int().min(0).max(255).optional(),
  stopLogs: z.array(logLine).optional(),
  /** The start call fails with this message and leaves an exited container behind (StartError, 128). */
  startError: z.string().optional(),
  logs: z.array(logLine).optional(),
  /** What becomes of standard input; absent: it is thrown away. */
  stdin: z.literal('echo').optional(),
  /** The last one that is for the command counts. */
  exec: z.array(execAnswer).optional(),
  /** Absent: a hundredth of a core and 16 MiB. */
  use: useSchema.optional(),
  listen: z.array(server).optional(),
});

export type FakeScript = z.infer<typeof scriptSchema>;
export type FakeServer = z.output<typeof server>;
/** As a test writes it. */
export type FakeServerInput = z.input<typeof server>;
export type FakeExecAnswer = z.infer<typeof execAnswer>;
export type FakeLogLine = z.infer<typeof logLine>;

/** Which containers a script is for; an absent field matches all. */
const matcherShape = {
  pod: z.string().optional(),
  container: z.string().optional(),
  image: z.string().optional(),
  attempt: z.int().nonnegative().optional(),
};

export type ScriptMatcher = {
  readonly [Key in keyof typeof matcherShape]?: z.infer<(typeof matcherShape)[Key]>;
};

const UNITS: Readonly<Record<string, number>> = { '': 1, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };

const bytes = z.union([
  z.int().positive(),
  z
    .string()
    .regex(/^\d+(Ki|Mi|Gi|Ti)?$/, 'must be a number of bytes, or a number with Ki, Mi, Gi or Ti')
    .transform((text) => Number.parseInt(text, 10) * (UNITS[text.replace(/^\d+/, '')] ?? 1)),
]);

const schema = z.strictObject({
  kind: z.enum(['container', 'pod']).default('container'),
  capacity: z
    .strictObject({
      cpu: z.number().positive().default(64),
      memory: bytes.default(256 * 2 ** 30),
      ephemeralStorage: bytes.default(2 ** 40),
      pods: z.int().positive().default(1000),
    })
    .prefault({}),
  /** Reported as the node's InternalIP, and the pod IP of pods on the host network. */
  address: z.string().default('127.0.0.1'),
  latency: z
    .strictObject({
      /** Added to every call. */
      callMs: z.number().nonnegative().default(0),
      pullMs: z.number().nonnegative().default(0),
      startMs: z.number().nonnegative().default(0),
    })
    .prefault({}),
  /** What the registry has. */
  images: z.union([z.literal('any'), z.array(z.string())]).default('any'),
  /** Images already on the machine. */
  present: z.array(z.string()).default([]),
  pullErrors: z
    .record(z.string(), z.strictObject({ code: z.enum(PROVIDER_ERROR_CODES), message: z.string() }))
    .default({}),
  /** For containers that nothing else says anything about. */
  defaultScript: scriptSchema.prefault({}),
  /** The last one that matches wins over environment, command and default. */
  scripts: z.array(scriptSchema.extend(matcherShape)).default([]),
  /** kind 'pod' only: who restarts a container that ended (PodProvider.containerRestart). */
  containerRestart: z.enum(['backend', 'none']).default('none'),
  restartDelayMs: z.number().nonnegative().default(1000),
});

export type FakeConfig = z.output<typeof schema>;

export function parseServers(servers: readonly FakeServerInput[]): readonly FakeServer[] {
  return servers.map((one) => server.parse(one));
}

export function parseConfig(raw: unknown): FakeConfig {
  const result = schema.safeParse(raw ?? {});
  if (result.success) return result.data;
  const lines = result.error.issues.map((issue) => {
    const path = issue.path.map(String).join('.');
    return path === '' ? issue.message : `${path}: ${issue.message}`;
  });
  throw new UsageError(`provider fake: ${lines.join('; ')}`);
}

import { Command, CommanderError, Option } from 'commander';
import type { Config } from './config/config.ts';
import type { FlagTexts } from './config/flags.ts';
import { errorMessage, UsageError } from './util/errors.ts';

/** What the commands do; main.ts hands in the real things, tests theirs. */
export interface CliActions {
  readonly version: string;
  load(flags: FlagTexts): Promise<Config>;
  /** Checks what only the providers know: that they exist, and their sections of the configuration. Throws UsageError. */
  checkProviders(config: Config): Promise<void>;
  /** Resolves when the process was asked to stop. */
  run(config: Config): Promise<void>;
  /** stdout and stderr, whole lines. */
  out(text: string): void;
  err(text: string): void;
}

const USAGE_EXIT_CODE = 2;

/** Runs the command line (without node and script) and returns the exit code. */
export async function runCli(argv: readonly string[], actions: CliActions): Promise<number> {
  try {
    await buildProgram(actions).parseAsync(argv.map(joinShortValue), { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) {
      // Help and version were printed already; everything else is a usage error in commander's words.
      if (error.exitCode === 0) return 0;
      actions.err(oneLine(error.message.replace(/^error: /, '')));
      return USAGE_EXIT_CODE;
    }
    if (!(error instanceof UsageError)) throw error;
    actions.err(oneLine(error.message));
    return USAGE_EXIT_CODE;
  }
}

function buildProgram(actions: CliActions): Command {
  const program = new Command('outrigger')
    .description('A kubelet for virtual Kubernetes nodes on pluggable backends.')
    .version(actions.version)
    .exitOverride()
    .configureOutput({ writeOut: (text) => actions.out(text.trimEnd()), writeErr: () => {} });
  const run = program
    .command('run', { isDefault: true })
    .description('register the nodes and run their pods (default)');
  addFlags(run).action(async () => {
    const config = await actions.load(flagTexts(run));
    await actions.checkProviders(config);
    await actions.run(config);
  });
  const check = program.command('check-config').description('check flags and files, print the effective configuration');
  addFlags(check).action(async () => {
    const config = await actions.load(flagTexts(check));
    await actions.checkProviders(config);
    actions.out(JSON.stringify(config, undefined, 2));
  });
  return program;
}

/** Names are the kubelet's. Values stay texts here: config/flags.ts judges them, so that every refusal reads the same. */
function addFlags(command: Command): Command {
  const flags: readonly (readonly [syntax: string, description: string])[] = [
    ['--kubeconfig <file>', 'how to reach the API server (default: the service account of this pod)'],
    ['--context <name>', 'context of the kubeconfig (default: its current one)'],
    ['--bootstrap-kubeconfig <file>', 'what to get a client certificate with while --kubeconfig has none'],
    ['--rotate-certificates [bool]', 'renew the client certificate by itself (default: false)'],
    ['--config <file>', 'KubeletConfiguration and OutriggerConfiguration documents; flags win over them'],
    ['--provider <name>', 'backend that runs the pods (default: docker)'],
    ['--provider-config <file>', "the backend's own settings"],
    ['--hostname-override <name>', 'name of the node (default: host name of this machine)'],
    ['--node-ip <ip,...>', 'address(es) of the node (default: what the backend reports)'],
    ['--address <ip>', 'where the kubelet API listens (default: 0.0.0.0)'],
    ['--port <n>', 'port of the kubelet API, 0 for any free one (default: 10250)'],
    ['--read-only-port <n>', 'plain HTTP without authentication: pods, stats, metrics; 0 for none (default: 0)'],
    ['--healthz-port <n>', 'port of /healthz on 127.0.0.1, 0 for none (default: 10248)'],
    ['--max-pods <n>', 'pods at the same time (default: what the backend can, at most 110)'],
    ['--register-node [bool]', 'create the Node object (default: true)'],
    [
      '--register-with-taints <k=v:Effect,...>',
      'taints at creation, empty for none (default: virtual-kubelet.io/provider)',
    ],
    ['--node-labels <k=v,...>', 'labels at creation; "key-" takes a default label away'],
    ['--provider-id <id>', 'spec.providerID of the node'],
    ['--pod-cidr <cidr>', 'pod network of the node (default: its spec.podCIDR)'],
    ['--tls-cert-file <file>', 'serving certificate; this, or one of the two below'],
    ['--tls-private-key-file <file>', 'its key'],
    ['--rotate-server-certificates [bool]', "serving certificate by CSR from the cluster's signer (default: false)"],
    ['--self-signed-serving-certificate [bool]', 'one that nobody can verify is made and kept (default: false)'],
    ['--tls-min-version <name>', 'VersionTLS12 or VersionTLS13 (default: VersionTLS12)'],
    ['--tls-cipher-suites <name,...>', "Go's names of cipher suites of TLS 1.2 (default: the library's choice)"],
    ['--cert-dir <folder>', 'certificates that are issued or made (default: /var/lib/outrigger/pki)'],
    ['--client-ca-file <file>', 'CA of client certificates that name a user (default: none does)'],
    ['--anonymous-auth [bool]', 'requests without credentials are those of system:anonymous (default: false)'],
    ['--authentication-token-webhook [bool]', 'bearer tokens, by TokenReview (default: true)'],
    ['--authentication-token-webhook-cache-ttl <duration>', 'how long its answers count (default: 2m)'],
    [
      '--authorization-mode <Webhook|AlwaysAllow>',
      'who may do what, by SubjectAccessReview or not at all (default: Webhook)',
    ],
    ['--authorization-webhook-cache-authorized-ttl <duration>', 'how long a yes counts (default: 5m)'],
    ['--authorization-webhook-cache-unauthorized-ttl <duration>', 'how long a no counts (default: 30s)'],
    ['--allow-open-kubelet-api [bool]', 'AlwaysAllow is meant: whoever gets in may do everything (default: false)'],
    ['--enable-debugging-handlers [bool]', 'exec, attach, port-forward, logs and the like (default: true)'],
    ['--end-exec-with-client [bool]', 'kill the command of an exec whose client is gone (default: false)'],
    ['--feature-gates <name=bool,...>', 'ExtendWebSocketsToKubelet, the only one that means something (default: true)'],
    ['--cluster-dns <ip,...>', 'DNS servers of pods'],
    ['--cluster-domain <domain>', 'DNS domain of the cluster'],
    ['--kube-reserved <cpu=..,memory=..>', 'resources kept for Kubernetes itself'],
    ['--system-reserved <cpu=..,memory=..>', 'resources kept for the system'],
    ['--log-format <json|text>', 'log lines for machines or for people (default: json)'],
    ['-v, --v <n>', 'verbosity, 4 and above shows debug lines (default: 2)'],
  ];
  for (const [syntax, description] of flags) command.addOption(new Option(syntax, description).argParser(collect));
  return command.exitOverride();
}

/** A repeated list flag adds to the list, as Go's list flags do; for others the last one wins. */
const LIST_FLAGS = [
  'tls-cipher-suites',
  'node-labels',
  'feature-gates',
  'register-with-taints',
  'cluster-dns',
  'kube-reserved',
  'system-reserved',
];

function collect(this: void, value: string, previous: unknown): string {
  return typeof previous === 'string' ? `${previous}\n${value}` : value;
}

function flagTexts(command: Command): FlagTexts {
  const texts: Record<string, string> = {};
  for (const option of command.options) {
    const value: unknown = command.getOptionValue(option.attributeName());
    const name = option.long?.slice(2) ?? option.attributeName();
    if (value === true) texts[name] = 'true';
    if (typeof value !== 'string') continue;
    const values = value.split('\n');
    texts[name] = LIST_FLAGS.includes(name) ? values.join(',') : (values.at(-1) ?? '');
  }
  return texts;
}

/** klog's `-v=4` is one argument to Go and a value "=4" to commander. */
function joinShortValue(argument: string): string {
  return argument.replace(/^-v=/, '--v=');
}

function oneLine(message: string): string {
  return `outrigger: ${message.split(/\s*\n\s*/).join(' ')}`;
}

/** For main.ts: what is not a usage error is a bug or a broken environment. */
export function fatalLine(error: unknown): string {
  return oneLine(errorMessage(error));
}

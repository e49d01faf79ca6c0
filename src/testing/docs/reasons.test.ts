import { describe, expect, it } from 'vitest';
import { readPage } from './document.ts';
import { backendTexts, coreTexts } from './reasons.ts';

/**
 * Words in src that look like a reason and are none. A new word of the code belongs here or into docs/reasons.md: there if a
 * user can meet it as the reason of an event, a condition or a state.
 */
const OTHER_WORDS: readonly string[] = [
  // phases, QoS classes, policies, event types, conditions and their statuses
  ...['Pending', 'Running', 'Succeeded', 'Guaranteed', 'Burstable', 'BestEffort', 'Always', 'IfNotPresent'],
  ...['Normal', 'Warning', 'True', 'False', 'Ready', 'Initialized', 'ContainersReady', 'PodScheduled'],
  ...['PodReadyToStartContainers', 'PodResizeInProgress', 'PodResizePending', 'AllContainersRestarting'],
  ...['MemoryPressure', 'DiskPressure', 'PIDPressure'],
  // values of the pod spec and of node configuration
  ...['ClusterFirst', 'ClusterFirstWithHostNet', 'Default', 'None', 'Memory', 'Merge', 'File', 'Disabled', 'Equal'],
  ...['FallbackToLogsOnError', 'HostToContainer', 'Bidirectional', 'IfPossible', 'Filesystem'],
  ...['Restart', 'Localhost', 'Net'],
  ...['RuntimeDefault', 'Unconfined', 'NoExecute', 'NoSchedule', 'PreferNoSchedule'],
  ...['Webhook', 'AlwaysAllow', 'ExtendWebSocketsToKubelet'],
  // headers of HTTP
  ...['Location', 'Allow'],
  // parts of names and labels of metrics
  ...['Read', 'Write', 'Bytes', 'Packets', 'Dropped', 'Errors'],
  // kinds
  ...['ConfigMap', 'Secret', 'KubeletConfiguration', 'OutriggerConfiguration'],
  // what probes are called, headers of their requests, and the codes of gRPC
  ...['Startup', 'Readiness', 'Liveness', 'Accept', 'Connection', 'Host', 'Range', 'Referer', 'Trailer'],
  ...['Aborted', 'Canceled', 'DataLoss'],
  ...['InvalidArgument', 'NotFound', 'AlreadyExists', 'PermissionDenied', 'ResourceExhausted'],
  ...['FailedPrecondition', 'OutOfRange', 'Unimplemented', 'Unauthenticated', 'Unknown', 'Internal'],
  // what kubectl prints of a pod whose init containers are under way
  'Init',
  // quantities
  ...['BinarySI', 'DecimalSI', 'DecimalExponent', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'],
  // a body of the kubelet API (reference 11.3), and the size of a terminal
  ...['Width', 'Height', 'ParseUint', 'Atoi'],
  // what others say to us: reasons of the API server's answers, a condition that other kubelets write, an HTTP body
  ...['Expired', 'Gone', 'ServerTimeout', 'NamespaceTerminating', 'TerminationByKubelet', 'Unauthorized'],
  // a backend's reason for an end, which only decides what is read of it
  'ContainerCannotRun',
];

const BACKEND_SECTION = '## Words of the docker provider';
const [corePage = '', backendPage = ''] = readPage('docs/reasons.md').split(BACKEND_SECTION);
const core = coreTexts();
const backend = backendTexts();

describe('docs/reasons.md', () => {
  it('has every reason that the core can show', () => {
    const documented = new Set([...words(corePage), ...OTHER_WORDS]);
    const missing = [...core.words].filter(([word]) => !documented.has(word));
    expect(missing, 'words of the code that are neither in the page nor in OTHER_WORDS').toEqual([]);
  });

  it('has no reason that the core does not know', () => {
    expect(words(corePage).filter((word) => !core.words.has(word))).toEqual([]);
  });

  it('is not kept from seeing a reason by a word that left the code', () => {
    expect(OTHER_WORDS.filter((word) => !core.words.has(word))).toEqual([]);
  });

  it('takes nothing that stands behind `reason:` for another word', () => {
    expect(OTHER_WORDS.filter((word) => core.reasons.has(word))).toEqual([]);
  });

  it('has the words of the docker provider, no more and no less', () => {
    expect(words(backendPage).sort()).toEqual([...backend.reasons.keys()].sort());
  });

  it.each(texts(corePage))('quotes the code: %s', (text) => {
    const unknown = fixedParts(text).filter((part) => !core.all.includes(part) && !backend.all.includes(part));
    expect(unknown).toEqual([]);
  });
});

/** First cells of the tables, without what is filled in. */
function words(page: string): string[] {
  return [...new Set(rows(page).map(([first = '']) => first.replaceAll('`', '').replace(/<.*$/, '')))];
}

/** Cells in code behind the first one. */
function texts(page: string): string[] {
  const cells = rows(page).flatMap(([, ...others]) => others.filter((cell) => /^`+.*`$/.test(cell)));
  return [...new Set(cells.map((cell) => cell.replaceAll(/^`+|`+$/g, '')))];
}

function rows(page: string): string[][] {
  return page
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
}

/** What a template's code has in one piece; a few letters alone would be found anywhere. */
function fixedParts(text: string): string[] {
  return text
    .split(/<[^>]*>/)
    .map((part) => part.trim())
    .filter((part) => part.length > 3);
}

import { describe, expect, test } from 'vitest';
import { readCommand } from './shell.ts';

const ENV = new Map([
  ['NAME', 'world'],
  ['EMPTY', ''],
]);
const line = (text: string, afterMs = 0, stream: 'stdout' | 'stderr' = 'stdout') => ({
  text,
  stream,
  afterMs,
  partial: false,
});

describe('commands that the fake understands', () => {
  test.each([
    { argv: ['true'], script: { exitAfterMs: 0, exitCode: 0 } },
    { argv: ['/bin/false'], script: { exitAfterMs: 0, exitCode: 1 } },
    { argv: ['sleep', '1.5'], script: { exitAfterMs: 1500, exitCode: 0 } },
    { argv: ['sleep', '2m'], script: { exitAfterMs: 120_000, exitCode: 0 } },
    { argv: ['sleep', 'infinity'], script: {} },
    { argv: ['echo', 'a', '$NAME'], script: { logs: [line('a $NAME')], exitAfterMs: 0, exitCode: 0 } },
    { argv: ['nginx', '-g', 'daemon off;'], script: {} },
    { argv: [], script: {} },
  ])('$argv', ({ argv, script }) => {
    expect(readCommand(argv, ENV)).toEqual(script);
  });

  test.each([
    ['exit 3', { exitAfterMs: 0, exitCode: 3 }],
    ['sleep 2; exit 300', { exitAfterMs: 2000, exitCode: 44 }],
    [
      'echo one; sleep 1; echo two >&2',
      { logs: [line('one'), line('two', 1000, 'stderr')], exitAfterMs: 1000, exitCode: 0 },
    ],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's braces
    ['echo "hello $NAME" \'$NAME\' ${EMPTY}x', { logs: [line('hello world $NAME x')], exitAfterMs: 0, exitCode: 0 }],
    ['false && echo no; echo yes', { logs: [line('yes')], exitAfterMs: 0, exitCode: 0 }],
    ['true || echo no', { exitAfterMs: 0, exitCode: 0 }],
    ['false || exit 9', { exitAfterMs: 0, exitCode: 9 }],
    ['exec sleep 10', { exitAfterMs: 10_000, exitCode: 0 }],
    ["trap 'exit 0' TERM; sleep 30 & wait", { stopAfterMs: 0, stopExitCode: 0, exitAfterMs: 30_000, exitCode: 0 }],
    [
      "trap 'echo bye; sleep 2; exit 5' TERM; while true; do sleep 1; done",
      { stopAfterMs: 2000, stopExitCode: 5, stopLogs: [line('bye')] },
    ],
    ["trap '' TERM; sleep 5", { ignoreStop: true, exitAfterMs: 5000, exitCode: 0 }],
    ["trap 'exit 1' INT; true", { exitAfterMs: 0, exitCode: 0 }],
    ['echo start\nexec /server --port 80', { logs: [line('start')] }],
    ['echo a | grep b; exit 1', {}],
    ['echo $(date); exit 1', {}],
    ['cat /etc/x > /y', {}],
    ['echo "unfinished', {}],
  ])('sh -c %j', (text, script) => {
    expect(readCommand(['/bin/sh', '-c', text], ENV)).toEqual(script);
  });
});

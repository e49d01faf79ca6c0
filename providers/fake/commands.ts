import type { ProviderContext } from '../contract/index.ts';
import type { FakeSession } from './session.ts';
import { durationMs, type Statement, statements } from './shell.ts';

/** Where a command of a session runs. */
export interface FakePlace {
  readonly session: FakeSession;
  readonly clock: ProviderContext['clock'];
  readonly env: ReadonlyMap<string, string>;
  readonly hostname: string;
}

/** Gives the exit code; `to` is where standard output goes. */
type Program = (args: readonly string[], place: FakePlace, to: 'stdout' | 'stderr') => Promise<number> | number;

/** PID of every shell. */
const SHELL_PID = '42';

const PROGRAMS: ReadonlyMap<string, Program> = new Map<string, Program>([
  ['true', () => 0],
  ['false', () => 1],
  [':', () => 0],
  ['echo', (args, place, to) => say(place, to, `${args.join(' ')}\n`)],
  ['hostname', (_, place, to) => say(place, to, `${place.hostname}\n`)],
  ['pwd', (_, place, to) => say(place, to, '/\n')],
  ['env', (_, place, to) => say(place, to, [...place.env].map(([name, value]) => `${name}=${value}\n`).join(''))],
  [
    'sleep',
    async ([text], place) => {
      const ms = durationMs(text);
      await place.clock.sleep(ms ?? Number.MAX_SAFE_INTEGER, { signal: place.session.over });
      return 0;
    },
  ],
  [
    'cat',
    async ([file], place, to) => {
      if (file !== undefined && file !== '-') {
        return say(place, 'stderr', `cat: can't open '${file}': No such file or directory\n`, 1);
      }
      for (let data = await read(place); data !== undefined; data = await read(place)) {
        await place.session.write(to, data);
      }
      return 0;
    },
  ],
  [
    'head',
    async (args, place, to) => {
      for (let left = Number(args[1]); left > 0; ) {
        const data = await read(place, left);
        if (data === undefined) break;
        left -= data.length;
        await place.session.write(to, data);
      }
      return 0;
    },
  ],
  [
    'wc',
    async (_, place, to) => {
      let bytes = 0;
      for (let data = await read(place); data !== undefined; data = await read(place)) bytes += data.length;
      return say(place, to, `${bytes}\n`);
    },
  ],
  [
    'yes',
    async (_, place, to) => {
      while (!place.session.over.aborted) await place.session.write(to, 'y\n'.repeat(512));
      return 0;
    },
  ],
  ['tty', (_, place, to) => say(place, to, place.session.terminal ? '/dev/pts/0\n' : 'not a tty\n')],
  [
    'stty',
    (_, place, to) => {
      const { rows, columns } = place.session.size;
      if (!place.session.terminal) return say(place, 'stderr', 'stty: standard input\n', 1);
      return say(place, to, `${rows} ${columns}\n`);
    },
  ],
]);

const SHELLS: ReadonlySet<string> = new Set(['sh', 'bash', 'ash']);

/** undefined: there is no such program, so nothing was started. */
export function runCommand(command: readonly string[], place: FakePlace): Promise<number> | undefined {
  const [program = '', ...args] = command;
  const name = program.split('/').at(-1) ?? '';
  if (SHELLS.has(name)) {
    const at = args.findIndex((word) => /^-[a-z]*c$/.test(word));
    return runScript(at === -1 ? undefined : args[at + 1], place);
  }
  const known = PROGRAMS.get(name);
  return known === undefined ? undefined : Promise.resolve(known(args, place, 'stdout'));
}

/** A shell without a script reads one from its input, line by line. */
async function runScript(script: string | undefined, place: FakePlace): Promise<number> {
  if (script !== undefined) return (await runLine(script, place, 0)).code;
  let code = 0;
  for (let rest = ''; ; ) {
    const data = await read(place);
    const lines = (rest + (data?.toString() ?? '\n')).split(/[\r\n]/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const done = await runLine(line, place, code);
      code = done.code;
      if (done.exited) return code;
    }
    if (data === undefined) return code;
  }
}

interface Done {
  readonly code: number;
  readonly exited: boolean;
}

async function runLine(text: string, place: FakePlace, before: number): Promise<Done> {
  let code = before;
  let skip = false;
  for (const statement of statements(text.replaceAll('$$', SHELL_PID), place.env)) {
    if (statement === 'unknown') {
      return { code: await say(place, 'stderr', 'sh: the fake shell cannot run this\n', 2), exited: true };
    }
    if (!skip) {
      const done = await runStatement(statement, place, code);
      if (done.exited) return done;
      code = done.code;
    }
    skip = (statement.joiner === '&&' && code !== 0) || (statement.joiner === '||' && code === 0);
  }
  return { code, exited: false };
}

async function runStatement(statement: Statement, place: FakePlace, before: number): Promise<Done> {
  const to = statement.words.some(isToStderr) ? 'stderr' : 'stdout';
  const words = statement.words.filter((word) => !isToStderr(word));
  const [name = ':', ...args] = words[0] === 'exec' ? words.slice(1) : words;
  if (name === 'exit') return { code: Number.parseInt(args[0] ?? String(before), 10) & 255, exited: true };
  if (name === 'kill' && args.at(-1) === SHELL_PID) {
    return { code: 128 + (args[0] === '-9' || args[0] === '-KILL' ? 9 : 15), exited: true };
  }
  const program = PROGRAMS.get(name.split('/').at(-1) ?? '');
  if (program === undefined)
    return { code: await say(place, 'stderr', `sh: ${name}: not found\n`, 127), exited: false };
  return { code: await program(args, place, to), exited: false };
}

function isToStderr(word: string): boolean {
  return word === '>&2' || word === '1>&2';
}

function read(place: FakePlace, max?: number): Promise<Buffer | undefined> {
  return place.session.input.read(max);
}

async function say(place: FakePlace, to: 'stdout' | 'stderr', text: string, code = 0): Promise<number> {
  await place.session.write(to, text);
  return code;
}

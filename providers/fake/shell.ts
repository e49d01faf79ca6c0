import type { FakeLogLine, FakeScript } from './schema.ts';

/**
 * Reads the few commands that make a container's behaviour plain without running anything: `true`, `false`, `sleep N`,
 * `echo …`, and `sh -c` with a straight line of those plus `exit`, `trap`, `wait`. What it does not know ends the reading: the
 * container then goes on until it is stopped. Pure.
 */
export function readCommand(argv: readonly string[], env: ReadonlyMap<string, string>): Partial<FakeScript> {
  const [program, ...rest] = argv;
  const name = program?.split('/').at(-1);
  if (name === 'sh' || name === 'bash' || name === 'ash') {
    const at = rest.findIndex((word) => /^-[a-z]*c$/.test(word));
    const text = at === -1 ? undefined : rest[at + 1];
    return text === undefined ? {} : readScript(text, env);
  }
  if (name === undefined) return {};
  return run([{ words: [name, ...rest], joiner: ';' }], env);
}

export interface Statement {
  readonly words: readonly string[];
  /** What stands behind it. */
  readonly joiner: ';' | '&&' | '||' | '&';
}

function readScript(text: string, env: ReadonlyMap<string, string>): Partial<FakeScript> {
  return run(statements(text, env), env);
}

function run(list: readonly (Statement | 'unknown')[], env: ReadonlyMap<string, string>): Partial<FakeScript> {
  const script: Partial<FakeScript> = {};
  const logs: FakeLogLine[] = [];
  let at = 0;
  let background = 0;
  let code = 0;
  let skip = false;
  const done = (extra: Partial<FakeScript>): Partial<FakeScript> => ({
    ...script,
    ...(logs.length > 0 ? { logs } : {}),
    ...extra,
  });

  for (const statement of list) {
    if (statement === 'unknown') return done({});
    const words = statement.words[0] === 'exec' ? statement.words.slice(1) : statement.words;
    const [name, ...args] = words;
    if (!skip) {
      switch (name?.split('/').at(-1)) {
        case undefined:
        case 'set':
        case ':':
          break;
        case 'true':
        case 'false':
          code = name?.endsWith('true') === true ? 0 : 1;
          break;
        case 'wait':
          at = Math.max(at, background);
          break;
        case 'sleep': {
          const ms = durationMs(args[0]);
          if (ms === undefined) return done({});
          if (statement.joiner === '&') background = at + ms;
          else at += ms;
          code = 0;
          break;
        }
        case 'echo': {
          const toStderr = args.some((word) => word === '>&2' || word === '1>&2');
          const text = args.filter((word) => word !== '>&2' && word !== '1>&2').join(' ');
          for (const line of text.split('\n'))
            logs.push({ text: line, stream: toStderr ? 'stderr' : 'stdout', afterMs: at, partial: false });
          code = 0;
          break;
        }
        case 'exit':
          return done({ exitAfterMs: at, exitCode: Number.parseInt(args[0] ?? String(code), 10) & 255 });
        case 'cat':
          return done(args.length === 0 ? { stdin: 'echo' } : {});
        case 'trap':
          Object.assign(script, readTrap(args, env));
          break;
        default:
          return done({});
      }
    }
    skip = (statement.joiner === '&&' && code !== 0) || (statement.joiner === '||' && code === 0);
  }
  return done({ exitAfterMs: at, exitCode: code });
}

/** Only a handler that exits ends the container; any other one is deaf to the stop signal. */
function readTrap(args: readonly string[], env: ReadonlyMap<string, string>): Partial<FakeScript> {
  const [handler, ...signals] = args;
  if (handler === undefined || !signals.some((signal) => /^(SIG)?TERM$|^15$/.test(signal))) return {};
  const inner = readScript(handler, env);
  if (!/\bexit\b/.test(handler) || inner.exitAfterMs === undefined) return { ignoreStop: true };
  return {
    stopAfterMs: inner.exitAfterMs,
    stopExitCode: inner.exitCode ?? 0,
    ...(inner.logs === undefined ? {} : { stopLogs: inner.logs }),
  };
}

export function durationMs(text: string | undefined): number | undefined {
  if (text === 'infinity' || text === 'inf') return undefined;
  const match = /^(\d+(?:\.\d+)?)([smhd]?)$/.exec(text ?? '');
  if (match === null) return undefined;
  const unit = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 }[match[2] ?? ''] ?? 1;
  return Number(match[1]) * unit * 1000;
}

const KEYWORDS = new Set(['while', 'until', 'for', 'if', 'case', 'function']);

/** Splits into simple commands. Quotes and $NAME are understood; pipes, redirections, substitutions and blocks are 'unknown'. */
export function statements(text: string, env: ReadonlyMap<string, string>): (Statement | 'unknown')[] {
  const result: (Statement | 'unknown')[] = [];
  let words: string[] = [];
  let word: string | undefined;
  const endWord = (): void => {
    if (word !== undefined) words.push(word);
    word = undefined;
  };
  const endStatement = (joiner: Statement['joiner']): void => {
    endWord();
    if (words.length > 0) result.push({ words, joiner });
    words = [];
  };

  for (let i = 0; i < text.length; i++) {
    const rest = text.slice(i);
    const char = rest[0] ?? '';
    const variable = /^\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})/.exec(rest);
    if (char === "'" || char === '"') {
      const end = text.indexOf(char, i + 1);
      if (end === -1) return [...result, 'unknown'];
      const inner = text.slice(i + 1, end);
      const value = char === '"' ? expand(inner, env) : inner;
      if (value === undefined) return [...result, 'unknown'];
      word = (word ?? '') + value;
      i = end;
    } else if (variable !== null) {
      word = (word ?? '') + (env.get(variable[1] ?? variable[2] ?? '') ?? '');
      i += variable[0].length - 1;
    } else if (/^1?>&2/.test(rest) && word === undefined) {
      words.push('>&2');
      i += rest.indexOf('2');
    } else if (rest.startsWith('&&') || rest.startsWith('||')) {
      endStatement(char === '&' ? '&&' : '||');
      i++;
    } else if (char === ';' || char === '\n') {
      endStatement(';');
    } else if (char === '&') {
      endStatement('&');
    } else if (/\s/.test(char)) {
      endWord();
    } else if (/[|<>(){}`$\\]/.test(char)) {
      return [...result, 'unknown'];
    } else {
      word = (word ?? '') + char;
    }
    if (words.length === 0 && word !== undefined && KEYWORDS.has(word)) return [...result, 'unknown'];
  }
  endStatement(';');
  return result;
}

function expand(text: string, env: ReadonlyMap<string, string>): string | undefined {
  const value = text.replace(
    /\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})/g,
    (_, bare, braced) => env.get(bare ?? braced) ?? '',
  );
  return /[$`\\]/.test(text.replace(/\$\{?[A-Za-z_]/g, '')) ? undefined : value;
}

import { parseUint } from '../../util/go-number.ts';
import { goQuote } from '../../util/go-quote.ts';
import { type Refusal, refuse } from './answers.ts';

/** Which streams the client wants. */
export interface StreamOptions {
  readonly type: 'options';
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** Only the literal `1` counts; a terminal has no stderr of its own. */
export function parseStreamOptions(query: URLSearchParams): StreamOptions | Refusal {
  const wanted = (name: string): boolean => query.get(name) === '1';
  const tty = wanted('tty');
  const options = {
    stdin: wanted('input'),
    stdout: wanted('output'),
    stderr: wanted('error') && !tty,
    tty,
  };
  if (!options.stdin && !options.stdout && !options.stderr) {
    return refuse(400, 'you must specify at least 1 of stdin, stdout, stderr');
  }
  return { type: 'options', ...options };
}

/** More channels than a byte can name; the kubelet has no such bound, and no client comes near. */
const MAX_PORTS = 100;

export interface PortOptions {
  readonly type: 'ports';
  readonly ports: readonly number[];
}

/** `?port=80,443&port=8080` of the port-forward with channels; texts as Go's ParseUint has them. */
export function parsePorts(query: URLSearchParams): PortOptions | Refusal {
  const values = query.getAll('port');
  if (values.length === 0) return refuse(400, 'query parameter "port" is required');
  const ports: number[] = [];
  for (const value of values) {
    if (value === '') return refuse(400, 'query parameter "port" cannot be empty');
    for (const text of value.split(',')) {
      const port = parsePort(text);
      if (typeof port === 'string') return refuse(400, `unable to parse ${goQuote(value)} as a port: ${port}`);
      if (port === 0) return refuse(400, `port ${goQuote(value)} must be > 0`);
      ports.push(port);
    }
  }
  if (ports.length > MAX_PORTS) return refuse(400, `more than ${MAX_PORTS} ports`);
  return { type: 'ports', ports };
}

/** The number (16 bits), or what is wrong with it. */
export function parsePort(text: string): number | string {
  return parseUint(text, 65_535);
}

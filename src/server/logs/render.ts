import type { LogRecord } from '../../../providers/contract/index.ts';
import { canonicalTime, fixedTime } from './log-time.ts';
import type { LogOptions } from './options.ts';

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const EMPTY = new Uint8Array();

/**
 * Records to bytes, one by one (reference 11.4; kubelet: cri-client/pkg/logs). A record stands for a line of the kubelet's log
 * file: it counts as one for `tailLines`, and a line in pieces gets its time stamp and its newline only once.
 */
export class LogRenderer {
  readonly #options: Pick<LogOptions, 'timestamps' | 'since'>;
  #bytesLeft: number;
  #recordsLeft: number;
  #atLineStart = true;

  constructor(options: LogOptions) {
    this.#options = options;
    this.#bytesLeft = options.limitBytes ?? Number.POSITIVE_INFINITY;
    // Following goes on after the last lines; where they begin is the provider's to find.
    this.#recordsLeft = options.follow ? Number.POSITIVE_INFINITY : (options.tailLines ?? Number.POSITIVE_INFINITY);
  }

  /** Nothing more will come out, whatever goes in. */
  get finished(): boolean {
    return this.#bytesLeft <= 0 || this.#recordsLeft <= 0;
  }

  render(record: LogRecord): Uint8Array {
    if (this.finished) return EMPTY;
    this.#recordsLeft -= 1;
    const atLineStart = this.#atLineStart;
    this.#atLineStart = !record.partial;
    const { since, timestamps } = this.#options;
    if (since !== undefined && canonicalTime(record.time) < since) return EMPTY;
    const bytes = compose(record, timestamps && atLineStart ? `${fixedTime(record.time)} ` : '');
    const cut = bytes.length > this.#bytesLeft ? bytes.subarray(0, this.#bytesLeft) : bytes;
    this.#bytesLeft -= cut.length;
    return cut;
  }
}

function compose({ line, partial }: LogRecord, prefix: string): Uint8Array {
  // containerd, whose logs kubectl users know, writes "\r\n" (every line of a terminal) as "\n".
  const end = !partial && line.at(-1) === CARRIAGE_RETURN ? line.length - 1 : line.length;
  const bytes = new Uint8Array(prefix.length + end + (partial ? 0 : 1));
  // Time stamps are ASCII: one byte per character.
  for (let i = 0; i < prefix.length; i++) bytes[i] = prefix.charCodeAt(i);
  bytes.set(end === line.length ? line : line.subarray(0, end), prefix.length);
  if (!partial) bytes[bytes.length - 1] = NEWLINE;
  return bytes;
}

import type { TerminalSize } from '../../../providers/contract/index.ts';
import { isRecord } from '../../util/is-record.ts';

/** Far more than one `{"Width":80,"Height":24}` needs. */
const MAX_PENDING = 4096;
const MAX_SIDE = 65_535;

/**
 * Terminal sizes from JSON objects back to back, cut anywhere. After the first thing that is none, nothing more is taken, as a
 * decoder of Go stops then. Sizes with a zero, which clients without a terminal send first, are left out.
 */
export class ResizeDecoder {
  #pending = '';
  #broken = false;

  push(bytes: Uint8Array): readonly TerminalSize[] {
    if (this.#broken) return [];
    this.#pending += Buffer.from(bytes).toString('latin1');
    const sizes: TerminalSize[] = [];
    for (let end = this.#pending.indexOf('}'); end >= 0; end = this.#pending.indexOf('}')) {
      const size = parseSize(this.#pending.slice(0, end + 1));
      this.#pending = this.#pending.slice(end + 1);
      if (size === undefined) {
        this.#giveUp();
        return sizes;
      }
      if (size.columns > 0 && size.rows > 0) sizes.push(size);
    }
    if (this.#pending.length > MAX_PENDING) this.#giveUp();
    return sizes;
  }

  #giveUp(): void {
    this.#broken = true;
    this.#pending = '';
  }
}

function parseSize(text: string): TerminalSize | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const columns = side(value['Width']);
  const rows = side(value['Height']);
  return columns === undefined || rows === undefined ? undefined : { columns, rows };
}

function side(value: unknown = 0): number | undefined {
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_SIDE ? value : undefined;
}

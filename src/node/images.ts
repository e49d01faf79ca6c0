import type { Logger } from '../telemetry/logger.ts';
import { ChildAbort } from '../util/abort.ts';
import type { Clock } from '../util/clock.ts';
import type { HostSource } from './ports.ts';
import type { ListedImage } from './report.ts';

/** How often the list in the Node is refreshed (reference 5.6). */
const REFRESH_MS = 30_000;
const DEADLINE_MS = 20_000;

/** The images of the backend, for the Node's status. An old list beats none: failures change nothing. */
export class NodeImages {
  readonly #images: HostSource['images'];
  readonly #clock: Clock;
  readonly #log: Pick<Logger, 'debug'>;
  #current: readonly ListedImage[] | undefined;

  constructor(images: HostSource['images'], clock: Clock, log: Pick<Logger, 'debug'>) {
    this.#images = images;
    this.#clock = clock;
    this.#log = log;
  }

  get current(): readonly ListedImage[] | undefined {
    return this.#current;
  }

  async run({ signal }: { readonly signal: AbortSignal }): Promise<void> {
    while (this.#images !== undefined && !signal.aborted) {
      await this.#refresh(this.#images, signal);
      await this.#clock.sleep(REFRESH_MS, { signal }).catch(() => {}); // only an abort rejects; the loop's condition sees it
    }
  }

  async #refresh(images: NonNullable<HostSource['images']>, signal: AbortSignal): Promise<void> {
    using call = new ChildAbort(signal);
    const cancel = this.#clock.timer(DEADLINE_MS, () => call.abort(new Error('the backend did not list its images')));
    try {
      this.#current = await images.listImages({ signal: call.signal });
    } catch (error) {
      // The runtime's health, which says more, is judged elsewhere.
      if (!signal.aborted) this.#log.debug({ err: error }, 'images not listed');
    } finally {
      cancel();
    }
  }
}

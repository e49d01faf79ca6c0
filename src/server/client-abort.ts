import type { ServerResponse } from 'node:http';
import { ChildAbort } from '../util/abort.ts';

/** Ends what is done for one request: with the parent, by hand, or when the client goes before the answer is over. */
export class ClientAbort extends ChildAbort {
  readonly #response: ServerResponse;
  readonly #onClose = (): void => this.abort(new Error('the client is gone'));

  constructor(response: ServerResponse, parent: AbortSignal) {
    super(parent);
    this.#response = response;
    response.once('close', this.#onClose);
  }

  /** From here on a closed connection is the usual end of an answer. */
  override [Symbol.dispose](): void {
    super[Symbol.dispose]();
    this.#response.off('close', this.#onClose);
  }
}

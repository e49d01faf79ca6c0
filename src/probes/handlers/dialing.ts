import type { Duplex } from 'node:stream';
import { type DialFacet, type DialTarget, isProviderError, type PodUid } from '../../../providers/contract/index.ts';
import { untilAborted } from '../../util/abort.ts';
import { errorMessage } from '../../util/errors.ts';

/** Where a probe goes: the pod itself under its address, or another host. */
export interface Endpoint {
  /** As messages and headers name it: the pod's address, or the host of the probe. Without brackets. */
  readonly host: string;
  readonly toHost: boolean;
}

/** Opens connections to one pod's targets. */
export class Dialer {
  readonly #dial: DialFacet;
  readonly #uid: PodUid;

  constructor(dial: DialFacet, uid: PodUid) {
    this.#dial = dial;
    this.#uid = uid;
  }

  /** Rejects with the signal's reason as soon as it aborts, whatever the provider does; a stream that comes later is dropped. */
  async open({ host, toHost }: Endpoint, port: number, signal: AbortSignal): Promise<Duplex> {
    const target: DialTarget = toHost ? { to: 'host', host, port } : { to: 'pod', port };
    const opening = this.#dial.dial(this.#uid, target, { signal });
    try {
      const stream = await untilAborted(opening, signal);
      // Somebody always listens: an error after the end of a probe must not become an uncaught one.
      stream.on('error', ignore);
      return stream;
    } catch (error: unknown) {
      opening.then(
        (late) => late.on('error', ignore).destroy(),
        () => undefined,
      );
      throw error;
    }
  }
}

/** The target's side has said no, or nothing. Other errors are ours (no descriptors left, no way to that host) and blame nobody. */
export function isOfTarget(error: unknown): boolean {
  return isProviderError(error, 'ConnectionRefused', 'Unreachable', 'NotFound');
}

/** Go's net.JoinHostPort. */
export function joinHostPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

/** The text of Go's net.OpError; providers leave the address out (contract: DialFacet). A failed look-up has none. */
export function dialErrorText(host: string, port: number, error: unknown): string {
  const message = errorMessage(error);
  return message.startsWith('lookup ') ? `dial tcp: ${message}` : `dial tcp ${joinHostPort(host, port)}: ${message}`;
}

function ignore(): void {}

import { errorMessage } from '../../util/errors.ts';
import { type Attempt, errored, failure, isAway, SUCCESS } from './attempt.ts';
import type { Deadline } from './deadline.ts';
import { type Dialer, dialErrorText, type Endpoint, isOfTarget } from './dialing.ts';

/** A connection can be opened; it is closed at once (reference 4.6). */
export async function probeTcp(dialer: Dialer, endpoint: Endpoint, port: number, deadline: Deadline): Promise<Attempt> {
  try {
    (await dialer.open(endpoint, port, deadline.signal)).destroy();
    return SUCCESS;
  } catch (error: unknown) {
    if (isAway(error)) return { type: 'away', error };
    if (deadline.expired) return failure(dialErrorText(endpoint.host, port, 'i/o timeout'));
    return isOfTarget(error) ? failure(dialErrorText(endpoint.host, port, error)) : errored(errorMessage(error));
  }
}

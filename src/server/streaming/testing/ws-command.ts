import type { StreamServerOptions } from '../upgrade.ts';
import { StreamBed, until } from './bed.ts';
import type { FakeCommand } from './fake-facets.ts';
import { WebSocketClient } from './ws-client.ts';

export const ALL_STREAMS = 'input=1&output=1&error=1';

/** What the error channel says at the end, from version 4 on. */
export const SUCCESS = '{"metadata":{},"status":"Success"}';

/** Commands run over WebSockets, each against a server of its own. */
export class WebSocketCommands {
  readonly #beds: StreamBed[] = [];

  async openBed(overrides: Partial<StreamServerOptions> = {}): Promise<StreamBed> {
    const bed = await StreamBed.open(overrides);
    this.#beds.push(bed);
    return bed;
  }

  /** `a "b c"` in the container `c`, running. */
  async exec(subprotocol?: string, query = ALL_STREAMS, overrides: Partial<StreamServerOptions> = {}) {
    const bed = await this.openBed(overrides);
    const client = await WebSocketClient.open(bed.port, `/exec/ns/p/c?command=a&command=b+c&${query}`, subprotocol);
    await until(() => bed.exec.commands.length === 1);
    // Just waited for.
    const command = bed.exec.commands[0] as FakeCommand;
    return { bed, client, command };
  }

  async close(): Promise<void> {
    for (const bed of this.#beds.splice(0)) await bed.close();
  }
}

/** What has arrived at the command by now and later. */
export function inputOf(command: FakeCommand): { text: string; ended: boolean } {
  const seen = { text: '', ended: false };
  command.stdin.on('data', (chunk: Buffer) => {
    seen.text += chunk.toString('latin1');
  });
  command.stdin.on('end', () => {
    seen.ended = true;
  });
  return seen;
}

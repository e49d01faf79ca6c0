import { WebSocket } from 'ws';

/** What may wait in the socket before a writer has to wait. */
const MAX_UNSENT_BYTES = 1 << 20;

/** One message. `done` comes at once while little is waiting, else when this message has left. */
export function send(
  webSocket: WebSocket,
  message: Buffer,
  binary: boolean,
  done: (error?: Error | null) => void,
): void {
  if (webSocket.readyState !== WebSocket.OPEN) {
    done(new Error('the connection is closed'));
    return;
  }
  if (webSocket.bufferedAmount < MAX_UNSENT_BYTES) {
    webSocket.send(message, { binary }, ignore);
    done();
  } else webSocket.send(message, { binary }, (error) => done(error ?? null));
}

/** The failure of a write is told by 'close' too, which ends everything of the session. */
function ignore(): void {}

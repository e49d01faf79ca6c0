import { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import type { Clock } from '../../../util/clock.ts';
import { Liveness } from './liveness.ts';
import { send } from './send.ts';

const READ_AHEAD_BYTES = 1 << 20;
const WRITE_AHEAD_BYTES = 256 << 10;
const NORMAL = 1000;
const UNSUPPORTED_DATA = 1003;

/** The bytes of the binary messages of a WebSocket, whose borders mean nothing. */
export function tunnel(webSocket: WebSocket, clock: Pick<Clock, 'timer'>): Duplex {
  const liveness = new Liveness(webSocket, clock);
  const duplex = new Duplex({
    readableHighWaterMark: READ_AHEAD_BYTES,
    writableHighWaterMark: WRITE_AHEAD_BYTES,
    read: () => liveness.resume(liveness),
    write: (chunk: Buffer, _encoding, done) => send(webSocket, chunk, true, done),
    writev: (chunks, done) => send(webSocket, Buffer.concat(chunks.map(({ chunk }) => chunk)), true, done),
    final(done) {
      liveness.close(NORMAL);
      done();
    },
    destroy(error, done) {
      // After a clean close the client's answer is still to be read; everything else is cut.
      if (webSocket.readyState === WebSocket.OPEN || error !== null) webSocket.terminate();
      done(error);
    },
  });
  duplex.on('error', () => {}); // whoever holds the stream learns of it by 'close'
  webSocket.on('message', (data, isBinary) => {
    if (duplex.destroyed || duplex.readableEnded) return;
    if (!isBinary) liveness.close(UNSUPPORTED_DATA);
    else if (!duplex.push(data)) liveness.pause(liveness);
  });
  webSocket.on('close', () => {
    if (!duplex.readableEnded) duplex.push(null);
    // What has arrived is still to be read; the writing side is over.
    duplex.once('end', () => duplex.destroy());
    if (!duplex.writableEnded) duplex.end();
  });
  return duplex;
}

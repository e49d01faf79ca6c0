/**
 * Runs in a Node of its own inside the network namespace of a pod. Handed over as text (`-e`), so that it is the same from
 * sources and from the bundle. For each message it connects to 127.0.0.1, then ::1, and sends the connected socket back; data never
 * passes through it. Paused before the connect: a banner that the server sends first must be left in the socket for its new owner.
 */
export const NETNS_SCRIPT = `'use strict';
const { Socket } = require('node:net');
process.on('disconnect', () => process.exit());
process.on('message', ({ id, port }) => {
  let first;
  const attempt = ([host, ...rest]) => {
    const socket = new Socket({ allowHalfOpen: true });
    const failed = ({ code, message }) => {
      first ??= { code, message };
      if (rest.length > 0) attempt(rest);
      else process.send({ id, ...first }, () => {});
    };
    socket.pause();
    socket.once('error', failed);
    socket.connect({ host, port }, () => {
      socket.off('error', failed);
      socket.on('error', () => {});
      process.send({ id }, socket, { keepOpen: false }, () => {});
    });
  };
  attempt(['127.0.0.1', '::1']);
});
`;

/** The peer broke the protocol: the connection cannot go on, as both sides no longer agree about what follows. */
export class SpdyProtocolError extends Error {
  override readonly name = 'SpdyProtocolError';
}

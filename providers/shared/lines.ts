/** Lines of a byte stream, without their ends. A line longer than `maxBytes` is an error: a peer may not fill our memory. */
export async function* lines(
  chunks: AsyncIterable<Uint8Array>,
  maxBytes: number,
): AsyncGenerator<string, void, undefined> {
  let rest = Buffer.alloc(0);
  for await (const chunk of chunks) {
    let data: Buffer = rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([rest, chunk]);
    for (;;) {
      const end = data.indexOf(0x0a);
      if (end < 0) break;
      const line = data.toString('utf8', 0, end).replace(/\r$/, '');
      data = data.subarray(end + 1);
      if (line !== '') yield line;
    }
    if (data.length > maxBytes) throw new Error(`a line is longer than ${maxBytes} bytes`);
    rest = Buffer.from(data);
  }
  if (rest.length > 0) yield rest.toString('utf8');
}

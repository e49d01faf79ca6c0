import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accept, ask, failed, say } from '../testing/http-servers.ts';

const PIECES = [
  'HTTP/1.1 200 OK\r\n',
  'HTTP/1.1 100 Continue\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\n\r\n',
  'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n',
  'HTTP/1.1 302 Found\r\n',
  'HTTP/1.1 999 \r\n',
  'HTTP/0.9',
  'HTTP/2.0 200 OK\r\n\r\n',
  'Location: ',
  'Transfer-Encoding: chunked\r\n',
  'Content-Length: ',
  'Content-Encoding: gzip\r\n',
  '\r\n',
  '5',
  '-1',
  'ffffffffffff',
  '0\r\n\r\n',
  '1\r\na\r\n',
  '\0',
];
const PLACES = [
  'http:',
  'https:',
  '//',
  '/',
  '10.1.2.3',
  ':',
  '99999',
  '?',
  '#',
  '%zz',
  ' ',
  'é',
  '[::1]',
  '@',
  'x:',
  '..',
  '\\',
];

describe('a server that says anything', () => {
  it('fails its probe or passes it, and nothing is left behind', async () => {
    const piece = fc.oneof(fc.constantFrom(...PIECES), fc.string());
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 10 }), async (pieces) => {
        const port = await say(Buffer.from(pieces.join(''), 'latin1'));
        const attempt = await ask({ port, path: '/' });
        if (attempt.type === 'errored') expect(attempt.state).toBe('failure');
        else expect(attempt.type).toMatch(/^(?:success|failure|warning)$/);
      }),
      { numRuns: 60 },
    );
  });

  it('and that redirects to anywhere, too', async () => {
    const place = fc.oneof(fc.constantFrom(...PLACES), fc.string({ maxLength: 5 }));
    await fc.assert(
      fc.asyncProperty(fc.array(place, { maxLength: 6 }), async (places) => {
        const location = places.join('').replaceAll(/[\r\n]/g, '');
        const port = await say(Buffer.from(`HTTP/1.1 302 Found\r\nLocation: ${location}\r\nContent-Length: 0\r\n\r\n`));
        expect((await ask({ port, path: '/' })).type).toMatch(/^(?:failure|warning)$/);
      }),
      { numRuns: 40 },
    );
  });

  it('has no more room for heads before its answer than for those of the answer', async () => {
    const port = await accept((socket) => {
      const more = (): void => {
        if (socket.writable) socket.write('HTTP/1.1 100 Continue\r\n\r\n'.repeat(1_000), more);
      };
      more();
    });
    expect(await ask({ port, path: '/' })).toEqual(
      failed(`Get "http://10.1.2.3:${port}/": net/http: server response headers exceeded 1048576 bytes; aborted`),
    );
  });
});

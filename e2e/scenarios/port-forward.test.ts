import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect } from 'vitest';
import { streamMatrix } from '../streaming/lanes.ts';
import { createServers } from '../streaming/servers.ts';

/** A greeter that listens on localhost only, a counter of bytes, an echo. */
const SERVERS = [
  'mkdir /tmp/www; echo hello >/tmp/www/index.html; httpd -p 127.0.0.1:8080 -h /tmp/www',
  'nc -ll -p 9001 -e sha256sum &',
  'nc -ll -p 9002 -e cat &',
  'nc -ll -p 9003 -e echo banner &',
].join('\n');

streamMatrix('port-forward', 'forward', ({ test }) => {
  test('reaches what listens on localhost only, by many connections, and keeps half-closed ones', async (scene, kubectl) => {
    await createServers(scene, 'p', SERVERS, [8080, 9001, 9002, 9003]);
    const http = 'GET /index.html HTTP/1.0\r\n\r\n';
    await kubectl.forward('p', 8080, async (port) => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => talk(port, http)));
      for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.\d 200 OK[\s\S]*\nhello\n$/);
    });
    await kubectl.forward('p', 9001, async (port) => {
      // The answer comes after the client's end: a half-closed connection has to live on.
      const data = randomBytes(10_000_000);
      expect(await talk(port, data)).toContain(createHash('sha256').update(data).digest('hex'));
    });
    await kubectl.forward('p', 9002, async (port) => {
      const text = 'x'.repeat(5_000_000);
      expect((await talk(port, text)).length).toBe(text.length);
    });
    await kubectl.forward('p', 9003, async (port) => {
      expect(await talk(port)).toBe('banner\n');
    });
  });

  // By design of kubectl 1.36, and the same with Kubernetes' own kubelet.
  test('tells of a closed port, which ends kubectl', async (scene, kubectl) => {
    await scene.create('p');
    await scene.ready('p');
    const { code, stderr } = await kubectl.forward('p', 81, async (port) => {
      await talk(port, 'x').catch(() => '');
      await new Promise((resolve) => setTimeout(resolve, 500));
    });
    expect(stderr).toContain('error forwarding port 81 to pod p, uid ');
    expect(stderr).toMatch(/failed to connect to localhost:81 inside namespace .*: connect: connection refused/);
    expect(code).toBe(1);
  });
});

/** Says it, ends, and listens to the end. Without words it only listens. */
async function talk(port: number, words?: string | Buffer): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  await once(socket, 'connect');
  const answer = socket.setEncoding('latin1').toArray();
  if (words !== undefined) socket.end(words);
  const text = (await answer).join('');
  socket.destroy();
  return text;
}

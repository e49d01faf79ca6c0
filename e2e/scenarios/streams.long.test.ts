import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { expect } from 'vitest';
import { IMAGES } from '../parts/images.ts';
import { eventually, type Scene } from '../scene.ts';
import { streamMatrix, streams } from '../streaming/lanes.ts';

const MEGABYTES = 200;
const CHUNK = randomBytes(1_000_000);

streamMatrix('large streams', 'command', ({ test }) => {
  test('200 MB go each way, and the memory of the node stays', async (scene, kubectl) => {
    await scene.create('p');
    await scene.ready('p');
    const before = residentMegabytes(scene);
    const child = kubectl.start(['exec', '-i', 'p', '--', 'sh', '-c', 'tee /dev/stderr | sha256sum']);
    const [sent, back] = [createHash('sha256'), createHash('sha256')];
    let received = 0;
    child.stderr.on('data', (data: Buffer) => {
      back.update(data);
      received += data.length;
    });
    const stdout = child.stdout.toArray();
    const peak = watchMemory(scene);
    for (let count = 0; count < MEGABYTES; count++) {
      sent.update(CHUNK);
      if (!child.stdin.write(CHUNK)) await once(child.stdin, 'drain');
    }
    child.stdin.end();
    expect(await once(child, 'close')).toEqual([0, null]);
    const hash = sent.digest('hex');
    expect(received).toBe(MEGABYTES * CHUNK.length);
    expect(back.digest('hex')).toBe(hash);
    expect(Buffer.concat((await stdout) as Buffer[]).toString()).toContain(hash); // of a pipe without encoding
    expect(peak() - before).toBeLessThan(150);
  });

  test('400 commands, 20 at a time over all lanes, leave nothing behind', async (scene, kubectl) => {
    await scene.create('p');
    await scene.ready('p');
    let next = 0;
    const wrong: string[] = [];
    const worker = async (): Promise<void> => {
      while (next < 400) {
        const index = next++;
        const { code, stdout, stderr } = await kubectl.run(['exec', '-i', 'p', '--', 'cat'], `in ${index}`);
        if (stdout.toString() !== `in ${index}`) wrong.push(`${index}: ${code} ${stdout} ${stderr}`);
      }
    };
    // The three lanes run side by side.
    await Promise.all(Array.from({ length: 7 }, worker));
    expect(wrong).toEqual([]);
    await eventually('all sessions to be closed', () => streams(scene, 'closed').length === 400, 10_000);
  });
});

streamMatrix('many forwarded connections', 'forward', ({ test }) => {
  test('100 at a time and 1,000 in a row over one kubectl', async (scene, kubectl) => {
    await scene.create('p', { image: IMAGES.hello, command: ['/hello'] });
    await scene.ready('p');
    await eventually('the server', async () => (await scene.logs('p')).includes('listening'));
    const [together, inRow] = [new Set<string>(), new Set<string>()];
    const { stderr } = await kubectl.forward('p', 8080, async (port) => {
      for (const answer of await Promise.all(Array.from({ length: 100 }, () => get(port)))) together.add(answer);
      for (let index = 0; index < 1_000; index++) inRow.add(await get(port));
    });
    expect(stderr).toBe('');
    expect([...together]).toEqual([expect.stringContaining('200 OK')]);
    expect([...inRow]).toEqual([...together]);
  });
});

/** The head of an answer without its date. */
async function get(port: number): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  await once(socket, 'connect');
  socket.end('GET / HTTP/1.0\r\n\r\n');
  const answer = (await socket.setEncoding('latin1').toArray()).join('');
  socket.destroy();
  return answer.replace(/^Date: .*$/m, '');
}

function residentMegabytes({ outrigger }: Scene): number {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${outrigger.pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}

/** The highest so far. */
function watchMemory(scene: Scene): () => number {
  let peak = 0;
  const timer = setInterval(() => {
    peak = Math.max(peak, residentMegabytes(scene));
  }, 100);
  return () => {
    clearInterval(timer);
    return peak;
  };
}

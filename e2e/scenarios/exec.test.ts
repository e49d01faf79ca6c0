import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { expect } from 'vitest';
import { eventually } from '../scene.ts';
import { streamMatrix, streams } from '../streaming/lanes.ts';

const sha256 = (data: Buffer): string => createHash('sha256').update(data).digest('hex');

streamMatrix('exec', 'command', ({ test }) => {
  test('keeps outputs apart, and hands on exit codes and arguments as they are', async (scene, kubectl) => {
    await scene.create('p');
    await scene.ready('p');
    const exec = (...command: string[]) => kubectl.run(['exec', 'p', '--', ...command]);
    const failed = await exec('sh', '-c', 'echo out; echo err >&2; exit 3');
    expect(failed).toMatchObject({ code: 3, stdout: Buffer.from('out\n') });
    expect(failed.stderr).toContain('err\n');
    expect(await exec('true')).toEqual({ code: 0, stdout: Buffer.alloc(0), stderr: '' });
    expect((await exec('sh', '-c', 'kill -9 $$')).code).toBe(137);
    const echoed = await exec('printf', '%s|', 'a b', 'ü&=/?%41+', '', '$HOME');
    expect(echoed.stdout.toString()).toBe('a b|ü&=/?%41+||$HOME|');
    const absent = await exec('no-such-command');
    expect(absent).toMatchObject({ code: 1, stdout: Buffer.alloc(0) });
    expect(absent.stderr).toContain('no-such-command');
  });

  test('carries input and its end, and output to its last byte', async (scene, kubectl) => {
    await scene.create('p');
    await scene.ready('p');
    const exec = (command: string, input?: string | Buffer) =>
      kubectl.run(['exec', '-i', 'p', '--', 'sh', '-c', command], input);
    expect((await exec('cat', 'hi')).stdout.toString()).toBe('hi');
    expect((await exec('cat; echo end')).stdout.toString()).toBe('end\n');
    const data = randomBytes(5_000_000);
    const back = await exec('cat', data);
    expect(sha256(back.stdout)).toBe(sha256(data));
    const cut = await exec('head -c 3000000 /dev/zero; exit 9');
    expect([cut.code, cut.stdout.length]).toEqual([9, 3_000_000]);
    const unread = await exec('head -c 10', 'y\n'.repeat(1_000_000));
    expect([unread.code, unread.stdout.toString()]).toEqual([0, 'y\ny\ny\ny\ny\n']);
  });

  test('gives a terminal with its size', async (scene, kubectl) => {
    await scene.create('p');
    await scene.ready('p');
    const script = 'sleep 1; stty size; test -t 0 && test -t 1 && echo terminal; exit 4';
    const { code, stdout } = await kubectl.runOnTerminal(['exec', '-it', 'p', '--', 'sh', '-c', script], '');
    expect(stdout.toString()).toContain('31 97');
    expect(stdout.toString()).toContain('terminal');
    expect(code).toBe(4);
  });

  test('runs many at a time', async (scene, kubectl) => {
    await scene.create('p');
    await scene.ready('p');
    const all = await Promise.all(
      Array.from({ length: 5 }, (_none, index) =>
        kubectl.run(['exec', '-i', 'p', '--', 'sh', '-c', `cat; echo ${index}; exit ${index}`], `in ${index} `),
      ),
    );
    expect(all.map(({ code, stdout }) => [code, stdout.toString()])).toEqual(
      all.map((_result, index) => [index, `in ${index} ${index}\n`]),
    );
  });

  test('frees the session of a client that is killed', async (scene, kubectl) => {
    await scene.create('p');
    await scene.ready('p');
    const child = kubectl.start(['exec', '-i', 'p', '--', 'sh', '-c', 'echo begun; sleep 60']);
    child.stdin.on('error', () => {});
    await once(child.stdout, 'data');
    expect(streams(scene, 'closed')).toEqual([]);
    child.kill('SIGKILL');
    await eventually('the session to be freed', () => streams(scene, 'closed').length === 1, 10_000);
  });
});

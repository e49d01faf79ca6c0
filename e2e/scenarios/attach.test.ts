import { once } from 'node:events';
import { expect } from 'vitest';
import { eventually, shell } from '../scene.ts';
import { streamMatrix } from '../streaming/lanes.ts';

const READER = 'while read -r line; do echo "out $line"; echo "err $line" >&2; done; echo end';

streamMatrix('attach', 'command', ({ test }) => {
  test('joins both outputs and the input, again and again', async (scene, kubectl) => {
    await scene.create('p', { ...shell(READER), stdin: true });
    await scene.ready('p');
    for (const word of ['one', 'two']) {
      const child = kubectl.start(['attach', '-i', 'p']);
      let [out, err] = ['', ''];
      child.stdout.on('data', (chunk: Buffer) => {
        out += chunk.toString();
      });
      child.stderr.on('data', (chunk: Buffer) => {
        err += chunk.toString();
      });
      child.stdin.write(`${word}\n`);
      await eventually('the answer', () => out.includes(`out ${word}\n`) && err.includes(`err ${word}\n`));
      child.stdin.end();
      const [code] = await once(child, 'exit');
      expect(code).toBe(0);
    }
  });

  test('ends the input of a container that takes it once', async (scene, kubectl) => {
    await scene.create('p', { ...shell(READER), stdin: true, stdinOnce: true }, { restartPolicy: 'Never' });
    await scene.ready('p');
    const { code, stdout } = await kubectl.run(['attach', '-i', 'p'], 'last\n');
    expect([code, stdout.toString()]).toEqual([0, expect.stringContaining('out last\nend\n')]);
    await scene.phase('p', 'Succeeded');
  });

  test('joins a terminal', async (scene, kubectl) => {
    const script = 'read -r line; stty size; echo "got $line"';
    await scene.create('p', { ...shell(script), stdin: true, tty: true }, { restartPolicy: 'Never' });
    await scene.ready('p');
    const { code, stdout } = await kubectl.runOnTerminal(['attach', '-it', 'p'], 'word\n');
    expect(code).toBe(0);
    expect(stdout.toString()).toContain('got word');
  });
});

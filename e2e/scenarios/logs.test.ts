import { expect } from 'vitest';
import { matrix } from '../matrix.ts';
import { resourcePath } from '../parts/kube-kinds.ts';
import { eventually, PATIENCE_MS, type Scene, shell } from '../scene.ts';

// Everything here goes through the API server, which trusts the kubelet's certificate only after checking it against its authority.
matrix('logs', ({ test }) => {
  test('the whole log, stdout and stderr', async (scene) => {
    await ended(scene, 'talker', 'echo one; echo two >&2; echo three');
    const lines = (await scene.logs('talker')).split('\n');
    expect(lines.toSorted()).toEqual(['', 'one', 'three', 'two']);
  });

  test('--tail counts lines from the end', async (scene) => {
    await ended(scene, 'tail', 'echo one; echo two; echo three');
    expect(await scene.logs('tail', { tailLines: '2' })).toBe('two\nthree\n');
    expect(await scene.logs('tail', { tailLines: '0' })).toBe('');
    expect(await scene.logs('tail', { tailLines: '10' })).toBe('one\ntwo\nthree\n');
  });

  test('--timestamps puts the time before each line, and --since-time leaves out what was before', async (scene) => {
    await ended(scene, 'timed', 'echo old; sleep 3; echo new');
    const lines = (await scene.logs('timed', { timestamps: 'true' })).trimEnd().split('\n');
    expect(lines[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}(Z|[+-]\d\d:\d\d) old$/);
    const [oldTime = '', newTime = ''] = lines.map((line) => line.split(' ')[0]);
    expect(Date.parse(newTime) - Date.parse(oldTime)).toBeGreaterThanOrEqual(2_900);
    const sinceTime = `${newTime.slice(0, 19)}Z`;
    expect(await scene.logs('timed', { sinceTime })).toBe('new\n');
  });

  test('--since takes an age in seconds', async (scene) => {
    await ended(scene, 'aged', 'echo old; sleep 4; echo new');
    expect(await scene.logs('aged', { sinceSeconds: '3600' })).toBe('old\nnew\n');
    await eventually(
      'the log to be older than 2 s',
      async () => (await scene.logs('aged', { sinceSeconds: '2' })) === '',
    );
  });

  test('--limit-bytes cuts at the byte', async (scene) => {
    await ended(scene, 'limited', 'echo one; echo two; echo three');
    expect(await scene.logs('limited', { limitBytes: '6' })).toBe('one\ntw');
  });

  test('-f sends a line when it comes, and ends with the container', async (scene) => {
    await scene.create('story', shell("echo begin; trap 'echo end; exit 0' TERM; sleep 3600 & wait"));
    await scene.ready('story');
    const log = await follow(scene, 'story', {});
    await eventually('the first line', () => log.text === 'begin\n');
    await scene.delete('story', 60);
    await log.ended;
    expect(log.text).toBe('begin\nend\n');
  });

  test('-f with --tail 0 sends only what is new', async (scene) => {
    await scene.create('ticker', shell("echo before; trap 'echo after; exit 0' TERM; sleep 3600 & wait"));
    await eventually('the first line', async () => (await scene.logs('ticker')) === 'before\n');
    const log = await follow(scene, 'ticker', { tailLines: '0' });
    await scene.delete('ticker', 60);
    await log.ended;
    expect(log.text).toBe('after\n');
  });

  test('--previous tells that there is none', async (scene) => {
    await ended(scene, 'once', 'echo life');
    await expect(scene.logs('once', { previous: 'true' })).rejects.toThrow(
      'previous terminated container "main" in pod "once" not found',
    );
  });

  test('a container that the pod does not have is refused', async (scene) => {
    await ended(scene, 'one', 'echo life');
    await expect(scene.logs('one', { container: 'two' })).rejects.toThrow('container two is not valid for pod one');
  });
});

async function ended(scene: Scene, name: string, script: string): Promise<void> {
  await scene.create(name, shell(script), { restartPolicy: 'Never' });
  await scene.phase(name, 'Succeeded');
}

interface Following {
  readonly text: string;
  readonly ended: Promise<void>;
}

/** Resolves when the answer has begun; the text grows. */
async function follow(scene: Scene, name: string, options: Record<string, string>): Promise<Following> {
  const query = new URLSearchParams({ follow: 'true', ...options });
  const path = `${resourcePath('Pod', scene.namespace, name, 'log')}?${query}`;
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const response = await scene.kube.http.open({ method: 'GET', path, signal });
  expect(response.statusCode).toBe(200);
  response.setEncoding('utf8');
  const following = { text: '', ended: Promise.resolve() };
  following.ended = (async () => {
    for await (const chunk of response) following.text += chunk;
  })();
  return following;
}

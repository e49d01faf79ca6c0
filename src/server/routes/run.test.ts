import { request as httpRequest } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { StreamBed, until } from '../streaming/testing/bed.ts';
import type { FakeCommand } from '../streaming/testing/fake-facets.ts';
import type { StreamServerOptions } from '../streaming/upgrade.ts';

const beds: StreamBed[] = [];

afterEach(async () => {
  for (const bed of beds.splice(0)) await bed.close();
});

async function setup(script: (command: FakeCommand) => void = () => {}, overrides: Partial<StreamServerOptions> = {}) {
  const bed = await StreamBed.open(overrides);
  beds.push(bed);
  bed.exec.script = script;
  return bed;
}

interface Answer {
  readonly code: number | undefined;
  readonly type: string | undefined;
  readonly body: string;
}

function post(bed: StreamBed, path: string, method = 'POST'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port: bed.port, path, method, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (text: string) => {
        body += text;
      });
      response.on('end', () => resolve({ code: response.statusCode, type: response.headers['content-type'], body }));
    });
    request.on('error', reject).end();
  });
}

function says(stdout: string, stderr: string, code: number): (command: FakeCommand) => void {
  return (command) => {
    command.stdout.write(stdout);
    command.stderr.write(stderr);
    command.end(code);
  };
}

describe('/run', () => {
  it('answers with both outputs, and calls them JSON', async () => {
    const bed = await setup(says('out\n', 'err\n', 0));
    expect(await post(bed, '/run/ns/p/c?cmd=echo+a%20%20b')).toEqual({
      code: 200,
      type: 'application/json',
      body: 'out\nerr\n',
    });
    // Cut at single blanks, so that two of them leave an empty argument.
    expect(bed.exec.commands[0]?.request).toMatchObject({ command: ['echo', 'a', '', 'b'], tty: false, stdin: false });
    expect(await post(bed, '/run/ns/p/some-uid/c?cmd=true')).toMatchObject({ code: 200 });
  });

  it('is empty without a type where nothing was said', async () => {
    const bed = await setup(says('', '', 0));
    expect(await post(bed, '/run/ns/p/c?cmd=true')).toEqual({ code: 200, type: undefined, body: '' });
  });

  it.each<[string, string, number, string]>([
    ['/run/ns/none/c?cmd=true', 'POST', 404, 'pod does not exist'],
    ['/run/ns/p/nope?cmd=true', 'POST', 500, 'container not found ("nope")'],
    ['/run/ns/p/c?cmd=true', 'GET', 405, '405: Method Not Allowed'],
    ['/run/ns/p', 'POST', 404, '404: Page Not Found'],
  ])('%s by %s is %i', async (path, method, code, body) => {
    expect(await post(await setup(), path, method)).toMatchObject({ code, body });
  });

  it('is 500 when the command fails, in the words of the kubelet', async () => {
    const bed = await setup(says('out', 'no such thing', 3));
    const body = "command 'ls x' exited with 3: no such thing";
    expect(await post(bed, '/run/ns/p/c?cmd=ls+x')).toMatchObject({ code: 500, body });
  });

  it('is 500 when the command cannot be run', async () => {
    const bed = await setup((command) => command.end(new Error('the engine is gone')));
    expect(await post(bed, '/run/ns/p/c?cmd=a')).toMatchObject({ code: 500, body: 'the engine is gone' });
    bed.exec.failure = new Error('no such file');
    expect(await post(bed, '/run/ns/p/c?cmd=a')).toMatchObject({ code: 500, body: 'no such file' });
  });

  it('is 501 where the backend runs no commands', async () => {
    const bed = await setup(() => {}, { exec: undefined } as object);
    expect(await post(bed, '/run/ns/p/c?cmd=a')).toMatchObject({ code: 501 });
  });

  it('keeps 16 MiB of an output, and reads all of it', async () => {
    const bed = await setup((command) => {
      for (let count = 0; count < 20; count++) command.stdout.write(Buffer.alloc(1 << 20, 'x'));
      command.end(0);
    });
    expect((await post(bed, '/run/ns/p/c?cmd=a')).body).toHaveLength(16 << 20);
  });

  it('ends the session when the client goes', async () => {
    const bed = await setup();
    const request = httpRequest({ host: '127.0.0.1', port: bed.port, path: '/run/ns/p/c?cmd=a', method: 'POST' });
    request.on('error', () => {}).end();
    await until(() => bed.exec.commands.length === 1);
    request.destroy();
    await until(() => bed.exec.commands[0]?.signal.aborted === true);
  });
});

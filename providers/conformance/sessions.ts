import type { Readable } from 'node:stream';
import type { ExecExit, ExecRequest, ExecSession, Provider } from '../contract/index.ts';
import type { Excuse } from './case.ts';
import { runPod } from './pods.ts';
import { refOf, type World } from './world.ts';

export const needsExec: Excuse = (provider) => (provider.exec === undefined ? 'no exec facet' : undefined);

export const needsAttach: Excuse = (provider) => (provider.attach === undefined ? 'no attach facet' : undefined);

/** What both outputs gave until their end. */
export interface Outcome {
  readonly stdout: string;
  readonly stderr: string;
  readonly exit: ExecExit;
}

/** Runs a command in a container that only waits. */
export async function openExec(
  provider: Provider,
  world: World,
  command: readonly string[],
  request: Partial<ExecRequest> = {},
  signal = world.options.signal,
): Promise<ExecSession> {
  const spec = world.container();
  const sandbox = await runPod(provider, world, spec);
  const session = await provider.exec?.exec(
    refOf(sandbox, spec),
    { command, tty: false, stdin: false, ...request },
    { signal },
  );
  if (session === undefined) throw new Error('no exec facet');
  return session;
}

/** Reads a session to its end while time passes. */
export async function outcomeOf(world: World, session: ExecSession): Promise<Outcome> {
  const reading = (async () => {
    const [stdout, stderr, exit] = await Promise.all([
      bytesOf(session.stdout),
      session.stderr === undefined ? Buffer.alloc(0) : bytesOf(session.stderr),
      session.exit,
    ]);
    return { stdout: stdout.toString(), stderr: stderr.toString(), exit };
  })();
  return during(world, 'the session to end', reading);
}

/** Lets time pass until the promise settles. */
export async function during<T>(world: World, what: string, promise: Promise<T>): Promise<T> {
  let settled = false;
  const watched = promise.finally(() => {
    settled = true;
  });
  watched.catch(() => undefined);
  await world.eventually(what, async () => settled, Boolean);
  return watched;
}

export async function bytesOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

/** Collects what comes, for looking at it in between. */
export function watchText(stream: Readable): () => string {
  const decoder = new TextDecoder();
  let text = '';
  stream.on('data', (chunk: Buffer) => {
    text += decoder.decode(chunk, { stream: true });
  });
  return () => text;
}

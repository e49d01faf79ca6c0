import { type CallOptions, ProviderError } from '../contract/index.ts';
import { readTar, type TarEntry } from '../shared/tar.ts';
import { asReadable, streamFailure } from './calls.ts';
import type { Engine } from './engine.ts';
import { statusBehind } from './errors.ts';

/** What lies at a path in a container, as the archive API packs it; undefined: nothing. A link at its end is not followed. */
export async function readArchive(
  engine: Engine,
  container: string,
  path: string,
  maxBytes: number,
  options: CallOptions,
): Promise<readonly TarEntry[] | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    const open = async () => asReadable(await engine.docker.getContainer(container).getArchive({ path }));
    const stream = await engine.calls.open('read files', options, open);
    for await (const chunk of stream) {
      size += chunk.length;
      if (size > maxBytes) throw new ProviderError('Internal', `"${path}" is larger than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    if (statusBehind(error) === 404) return undefined;
    throw streamFailure(error, options.signal);
  }
  return readTar(Buffer.concat(chunks));
}

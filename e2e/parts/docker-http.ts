import { createWriteStream } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { readText } from './kube-http.ts';

class DockerError extends Error {
  readonly code: number;

  constructor(what: string, code: number, body: string) {
    super(`${what}: ${code} ${body.trim().slice(0, 500)}`);
    this.code = code;
  }
}

export interface ContainerSummary {
  readonly Id: string;
  readonly Names: readonly string[];
  readonly Labels: Readonly<Record<string, string>>;
  readonly State: string;
}

export interface NetworkSummary {
  readonly Id: string;
  readonly Name: string;
  readonly Labels: Readonly<Record<string, string>> | null;
}

export interface VolumeSummary {
  readonly Name: string;
  readonly Labels: Readonly<Record<string, string>> | null;
}

export interface ContainerEvent {
  /** create, start, die, destroy … */
  readonly Action: string;
  readonly Actor: { readonly ID: string; readonly Attributes: Readonly<Record<string, string>> };
}

export interface ContainerStats {
  readonly read: string;
  /** Nanoseconds of processor time. */
  readonly cpu_stats: { readonly cpu_usage: { readonly total_usage: number } };
  /** Bytes. What a file page is called depends on the version of the control groups. */
  readonly memory_stats: { readonly usage: number; readonly stats: Readonly<Record<string, number>> };
}

interface ImageDetails {
  readonly Id: string;
  readonly Config: { readonly Labels: Readonly<Record<string, string>> | null } | null;
}

/** The few calls to a Docker engine that the test bed makes, over its socket. Tests may use dockerode beside it. */
export class DockerHttp {
  readonly socket: string;

  constructor(socket: string) {
    this.socket = socket;
  }

  async ping(): Promise<boolean> {
    return (await this.#text('GET', '/_ping')) === 'OK';
  }

  async info(): Promise<{ readonly NCPU: number; readonly MemTotal: number }> {
    return JSON.parse(await this.#text('GET', '/info')) as { NCPU: number; MemTotal: number }; // Engine API
  }

  /**
   * What happens to containers with the label from now on. Resolves when the engine listens; what it has forgotten (it keeps the last
   * 256 events of all its containers) cannot be asked for later.
   */
  async containerEvents(label: string, signal: AbortSignal): Promise<AsyncIterable<ContainerEvent>> {
    const filters = encodeURIComponent(JSON.stringify({ type: ['container'], label: [label] }));
    const response = await this.#open('GET', `/events?filters=${filters}`, { signal });
    return events(response);
  }

  /** As `docker kill` does. */
  async killContainer(id: string, signal = 'SIGKILL'): Promise<void> {
    await this.#text('POST', `/containers/${id}/kill?signal=${signal}`);
  }

  /** One reading of what a container uses. */
  async stats(id: string): Promise<ContainerStats> {
    const path = `/containers/${id}/stats?stream=false&one-shot=true`;
    return JSON.parse(await this.#text('GET', path)) as ContainerStats; // Engine API
  }

  /** Those with the label, or all; stopped ones too. */
  async containers(label?: string): Promise<ContainerSummary[]> {
    return JSON.parse(await this.#text('GET', `/containers/json?all=1${filter(label)}`)) as ContainerSummary[]; // Engine API
  }

  async networks(label?: string): Promise<NetworkSummary[]> {
    return JSON.parse(await this.#text('GET', `/networks?${filter(label)}`)) as NetworkSummary[]; // Engine API
  }

  async volumes(label?: string): Promise<VolumeSummary[]> {
    const answer = JSON.parse(await this.#text('GET', `/volumes?${filter(label)}`)) as {
      Volumes: VolumeSummary[] | null;
    }; // Engine API
    return answer.Volumes ?? [];
  }

  /** Undefined if the engine has no such image. */
  async image(name: string): Promise<ImageDetails | undefined> {
    try {
      return JSON.parse(await this.#text('GET', `/images/${encodeURIComponent(name)}/json`)) as ImageDetails; // Engine API
    } catch (error) {
      if (error instanceof DockerError && error.code === 404) return undefined;
      throw error;
    }
  }

  /** Makes an image of one layer from a tar archive of its root. `changes` are lines of a Dockerfile. */
  async importImage(archive: Readable, name: string, changes: readonly string[]): Promise<void> {
    const [repo, tag] = splitTag(name);
    const query = new URLSearchParams([
      ['fromSrc', '-'],
      ['repo', repo],
      ['tag', tag],
    ]);
    for (const change of changes) query.append('changes', change);
    const answer = await this.#text('POST', `/images/create?${query}`, archive);
    // The answer is 200 before the import is done; a failure is a line of the answer.
    if (answer.includes('"error"')) throw new Error(`import of ${name}: ${answer.trim()}`);
  }

  /** The image as `docker save` writes it. */
  async saveImage(name: string, file: string): Promise<void> {
    await pipeline(await this.#open('GET', `/images/${encodeURIComponent(name)}/get`, {}), createWriteStream(file));
  }

  async tagImage(name: string, other: string): Promise<void> {
    const [repo, tag] = splitTag(other);
    await this.#text('POST', `/images/${encodeURIComponent(name)}/tag?${new URLSearchParams({ repo, tag })}`);
  }

  async removeContainer(id: string): Promise<void> {
    await this.#remove(`/containers/${id}?force=1&v=1`);
  }

  async removeNetwork(id: string): Promise<void> {
    await this.#remove(`/networks/${id}`);
  }

  async removeVolume(name: string): Promise<void> {
    await this.#remove(`/volumes/${encodeURIComponent(name)}?force=1`);
  }

  async #remove(path: string): Promise<void> {
    await this.#text('DELETE', path).catch((error: unknown) => {
      // Gone, or someone else is removing it right now.
      if (!(error instanceof DockerError && (error.code === 404 || error.code === 409))) throw error;
    });
  }

  #open(
    method: string,
    path: string,
    { body, signal }: { readonly body?: Readable; readonly signal?: AbortSignal },
  ): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const options = { socketPath: this.socket, method, path, headers: { Host: 'docker' } };
      const sent = request({ ...options, ...(signal === undefined ? {} : { signal }) }, resolve);
      sent.once('error', reject);
      if (body === undefined) sent.end();
      else pipeline(body, sent).catch(reject);
    });
  }

  async #text(method: string, path: string, body?: Readable): Promise<string> {
    const response = await this.#open(method, path, { ...(body === undefined ? {} : { body }) });
    const text = await readText(response);
    const code = response.statusCode ?? 0;
    if (code >= 400) throw new DockerError(`${method} ${path}`, code, text);
    return text;
  }
}

async function* events(response: IncomingMessage): AsyncGenerator<ContainerEvent> {
  for await (const line of createInterface({ input: response })) yield JSON.parse(line) as ContainerEvent; // Engine API
}

function filter(label: string | undefined): string {
  return label === undefined ? '' : `&filters=${encodeURIComponent(JSON.stringify({ label: [label] }))}`;
}

function splitTag(name: string): [string, string] {
  const colon = name.lastIndexOf(':');
  return colon > name.lastIndexOf('/') ? [name.slice(0, colon), name.slice(colon + 1)] : [name, 'latest'];
}

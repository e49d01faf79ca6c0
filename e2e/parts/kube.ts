import { parseAllDocuments } from 'yaml';
import type { Json } from '../../src/model/pod.ts';
import { ApiError, type HttpRequest, KubeHttp, readText } from './kube-http.ts';
import { isKind, type Kind, type Kinds, RESOURCES, resourcePath, type Stored } from './kube-kinds.ts';
import { waitFor } from './wait.ts';

export { ApiError, type Kind, type Stored };

/** An object as someone writes it: the kind decides the rest. */
export type Draft<K extends Kind> = Omit<Partial<Json<Kinds[K]>>, 'metadata' | 'kind'> & {
  kind: K;
  metadata: NonNullable<Json<Kinds['Pod']>['metadata']>;
};

export interface Where {
  readonly labelSelector?: string;
  readonly fieldSelector?: string;
}

export type WatchEvent<K extends Kind> = {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: Stored<Kinds[K]>;
};

export type PatchType = 'strategic' | 'merge' | 'json' | 'apply';

const PATCH_TYPES: Record<PatchType, string> = {
  strategic: 'application/strategic-merge-patch+json',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  apply: 'application/apply-patch+yaml',
};

/** A small client for tests and the demo: raw JSON, typed by kind, namespace `default` if none is given. */
export class Kube {
  readonly http: KubeHttp;

  constructor(http: KubeHttp) {
    this.http = http;
  }

  static async open(kubeconfig: string, context?: string): Promise<Kube> {
    return new Kube(await KubeHttp.open(kubeconfig, context));
  }

  async get<K extends Kind>(kind: K, name: string, namespace = 'default'): Promise<Stored<Kinds[K]>> {
    return this.#json(kind, { method: 'GET', path: resourcePath(kind, namespace, name) });
  }

  /** Undefined if there is none. */
  async find<K extends Kind>(kind: K, name: string, namespace = 'default'): Promise<Stored<Kinds[K]> | undefined> {
    return this.get(kind, name, namespace).catch((error: unknown) => {
      if (error instanceof ApiError && error.code === 404) return undefined;
      throw error;
    });
  }

  /** Of one namespace, or of all if `namespace` is undefined. */
  async list<K extends Kind>(kind: K, namespace: string | undefined, where: Where = {}): Promise<Stored<Kinds[K]>[]> {
    const text = await this.http.text({ method: 'GET', path: `${resourcePath(kind, namespace)}${query(where)}` });
    return (JSON.parse(text) as { items: Stored<Kinds[K]>[] }).items; // what this path lists
  }

  async create<K extends Kind>(draft: Draft<K>): Promise<Stored<Kinds[K]>> {
    const { kind, metadata } = draft;
    const body = { ...draft, apiVersion: RESOURCES[kind].apiVersion };
    return this.#json(kind, { method: 'POST', path: resourcePath(kind, metadata.namespace ?? 'default'), body });
  }

  /** Server-side apply of one object. */
  async apply<K extends Kind>(draft: Draft<K>): Promise<Stored<Kinds[K]>> {
    const { kind, metadata } = draft;
    const path = `${resourcePath(kind, metadata.namespace ?? 'default', metadata.name)}?fieldManager=outrigger-e2e&force=true`;
    const body = { ...draft, apiVersion: RESOURCES[kind].apiVersion };
    return this.#json(kind, { method: 'PATCH', path, body, contentType: PATCH_TYPES.apply });
  }

  async patch<K extends Kind>(
    kind: K,
    name: string,
    patch: unknown,
    { namespace = 'default', type = 'merge' as PatchType, subresource = undefined as string | undefined } = {},
  ): Promise<Stored<Kinds[K]>> {
    const path = resourcePath(kind, namespace, name, subresource);
    return this.#json(kind, { method: 'PATCH', path, body: patch, contentType: PATCH_TYPES[type] });
  }

  /** Nothing happens if it is gone already. */
  async delete(
    kind: Kind,
    name: string,
    { namespace = 'default', graceSeconds = undefined as number | undefined, propagation = 'Background' } = {},
  ): Promise<void> {
    const body = {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      propagationPolicy: propagation,
      ...(graceSeconds === undefined ? {} : { gracePeriodSeconds: graceSeconds }),
    };
    await this.http
      .text({ method: 'DELETE', path: resourcePath(kind, namespace, name), body })
      .catch((error: unknown) => {
        if (!(error instanceof ApiError && error.code === 404)) throw error;
      });
  }

  /** Events from now on (or from `resourceVersion`) until the server or the caller ends it. */
  async *watch<K extends Kind>(
    kind: K,
    namespace: string | undefined,
    { signal, resourceVersion, ...where }: Where & { signal: AbortSignal; resourceVersion?: string },
  ): AsyncGenerator<WatchEvent<K>> {
    const path = `${resourcePath(kind, namespace)}${query({ ...where, watch: '1', ...(resourceVersion ? { resourceVersion } : {}) })}`;
    const response = await this.http.open({ method: 'GET', path, signal });
    if ((response.statusCode ?? 0) >= 400) {
      throw new ApiError(`watch ${path}`, response.statusCode ?? 0, await readText(response));
    }
    response.setEncoding('utf8');
    let rest = '';
    try {
      for await (const chunk of response) {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) yield JSON.parse(line) as WatchEvent<K>; // one event a line
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      response.destroy();
    }
  }

  /** The object as soon as `accept` says yes. When time is up the error holds the object's status. */
  async waitFor<K extends Kind>(
    kind: K,
    name: string,
    what: string,
    accept: (object: Stored<Kinds[K]>) => boolean,
    { namespace = 'default', timeoutMs = 60_000, intervalMs = 100 } = {},
  ): Promise<Stored<Kinds[K]>> {
    let last: Stored<Kinds[K]> | undefined;
    return waitFor(
      async () => {
        last = await this.get(kind, name, namespace);
        return accept(last) ? last : undefined;
      },
      {
        what: `${kind} ${name} to be ${what}`,
        timeoutMs,
        intervalMs,
        detail: async () => `${statusText(last)}\n${await this.eventLines(name, namespace).catch(() => '')}`,
      },
    );
  }

  async waitGone(kind: Kind, name: string, { namespace = 'default', timeoutMs = 60_000 } = {}): Promise<void> {
    await waitFor(async () => (await this.find(kind, name, namespace)) === undefined, {
      what: `${kind} ${name} to be gone`,
      timeoutMs,
      detail: async () => statusText(await this.find(kind, name, namespace)),
    });
  }

  /** `Normal Pulled Container image … (x2)`, oldest first. */
  async eventLines(name: string, namespace = 'default'): Promise<string> {
    const events = await this.list('Event', namespace, { fieldSelector: `involvedObject.name=${name}` });
    return events.map((event) => `${event.type} ${event.reason} ${event.message} (x${event.count ?? 1})`).join('\n');
  }

  /** Through the API server from the kubelet server; `options` as in the URL, for example `{ container: 'a', previous: 'true' }`. */
  async logs(pod: string, options: Record<string, string> = {}, namespace = 'default'): Promise<string> {
    return this.http.text({ method: 'GET', path: `${resourcePath('Pod', namespace, pod, 'log')}${query(options)}` });
  }

  /** Makes a namespace with a random name and waits until pods may be created in it. */
  async createNamespace(prefix = 'e2e'): Promise<string> {
    const { metadata } = await this.create({ kind: 'Namespace', metadata: { generateName: `${prefix}-` } });
    await this.waitForServiceAccount(metadata.name);
    return metadata.name;
  }

  async waitForServiceAccount(namespace: string): Promise<void> {
    await waitFor(
      async () =>
        (await this.find('ServiceAccount', 'default', namespace)) &&
        (await this.find('ConfigMap', 'kube-root-ca.crt', namespace)) !== undefined,
      { what: `the default ServiceAccount of namespace ${namespace}`, intervalMs: 50 },
    );
  }

  async #json<K extends Kind>(_kind: K, request: HttpRequest): Promise<Stored<Kinds[K]>> {
    return JSON.parse(await this.http.text(request)) as Stored<Kinds[K]>; // the API server answers with the kind that was asked for
  }

  close(): void {
    this.http.close();
  }
}

/** The objects of a YAML file with several documents. */
export function parseManifest(text: string): Draft<Kind>[] {
  return parseAllDocuments(text).map((document) => {
    const object = document.toJS() as Draft<Kind>; // our own example files; the API server checks the rest
    if (!isKind(object.kind)) throw new Error(`the demo does not know the kind ${String(object.kind)}`);
    return object;
  });
}

export function isTrue(conditions: readonly { type: string; status: string }[] | undefined, type: string): boolean {
  return conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false;
}

function statusText(object: object | undefined): string {
  if (object === undefined) return 'there is none';
  return `its status: ${JSON.stringify('status' in object ? object.status : undefined, undefined, 1)}`;
}

function query(parameters: object): string {
  const text = new URLSearchParams(Object.entries(parameters).filter(([, value]) => value !== undefined)).toString();
  return text === '' ? '' : `?${text}`;
}

export interface Reflected {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion?: string;
    managedFields?: unknown;
  };
}

export interface Delta<T> {
  readonly type: 'added' | 'modified' | 'deleted';
  readonly object: T;
}

/**
 * What a reflector has told so far, keyed by UID. A name that comes back with another UID is another object: its
 * predecessor is told as deleted first, whether or not the server said so (it does not after a gap).
 */
export class Known<T extends Reflected> {
  readonly #byUid = new Map<string, T>();
  readonly #uidByName = new Map<string, string>();
  readonly #tell: (delta: Delta<T>) => void;

  constructor(tell: (delta: Delta<T>) => void) {
    this.#tell = tell;
  }

  get size(): number {
    return this.#byUid.size;
  }

  put(object: T): void {
    const { uid, resourceVersion } = object.metadata;
    const name = nameOf(object);
    const before = this.#byUid.get(uid);
    if (before?.metadata.resourceVersion === resourceVersion && before !== undefined) return;
    const predecessor = this.#uidByName.get(name);
    if (predecessor !== undefined && predecessor !== uid) this.#forget(predecessor);
    this.#byUid.set(uid, object);
    this.#uidByName.set(name, uid);
    this.#tell({ type: before === undefined ? 'added' : 'modified', object });
  }

  /** With the last state of the object, as a DELETED event carries it. */
  remove(object: T): void {
    if (this.#byUid.has(object.metadata.uid)) this.#forget(object.metadata.uid, object);
  }

  /** The collection as just listed: what is missing was deleted, and is told first. */
  replace(objects: readonly T[]): void {
    const listed = new Set(objects.map((object) => object.metadata.uid));
    for (const uid of [...this.#byUid.keys()]) if (!listed.has(uid)) this.#forget(uid);
    for (const object of objects) this.put(object);
  }

  #forget(uid: string, last?: T): void {
    const object = last ?? this.#byUid.get(uid);
    if (object === undefined) return;
    this.#byUid.delete(uid);
    const name = nameOf(object);
    if (this.#uidByName.get(name) === uid) this.#uidByName.delete(name);
    this.#tell({ type: 'deleted', object });
  }
}

function nameOf(object: Reflected): string {
  return `${object.metadata.namespace ?? ''}/${object.metadata.name}`;
}

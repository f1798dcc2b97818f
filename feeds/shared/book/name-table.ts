// hot path
/**
 * A contract's name, as bytes of a frame, → its entry, without building a string. Open hashing over the names
 * of all streamed contracts; rebuilt on insertion, which is rare.
 *
 *   buckets[hash & mask] → small arrays of { name, entry }; FNV-1a over the bytes
 */
interface Named<Entry> {
  readonly name: Uint8Array;
  readonly entry: Entry;
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;
/** Buckets per name, so that nearly every bucket holds one. */
const SPREAD = 4;

export class NameTable<Entry> {
  #buckets: Named<Entry>[][] = [[]];
  #mask = 0;
  readonly #byName = new Map<string, Entry>();

  get size(): number {
    return this.#byName.size;
  }

  get(name: string): Entry | undefined {
    return this.#byName.get(name);
  }

  values(): IterableIterator<Entry> {
    return this.#byName.values();
  }

  set(name: string, entry: Entry): void {
    this.#byName.set(name, entry);
    this.#rebuild();
  }

  delete(name: string): void {
    if (this.#byName.delete(name)) this.#rebuild();
  }

  /** The entry whose name is bytes[start … end-1]. */
  find(bytes: Uint8Array, start: number, end: number): Entry | undefined {
    const bucket = this.#buckets[hashBytes(bytes, start, end) & this.#mask] as Named<Entry>[];
    for (let index = 0; index < bucket.length; index++) {
      const named = bucket[index] as Named<Entry>;
      if (isSame(named.name, bytes, start, end)) return named.entry;
    }
    return undefined;
  }

  #rebuild(): void {
    let size = 1;
    while (size < this.#byName.size * SPREAD) size *= 2;
    this.#mask = size - 1;
    this.#buckets = Array.from({ length: size }, () => []);
    for (const [text, entry] of this.#byName) {
      const name = Buffer.from(text, "utf8");
      this.#buckets[hashBytes(name, 0, name.length) & this.#mask]?.push({ name, entry });
    }
  }
}

function hashBytes(bytes: Uint8Array, start: number, end: number): number {
  let hash = FNV_OFFSET;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (bytes[at] as number), FNV_PRIME);
  return hash >>> 0;
}

function isSame(name: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (name.length !== end - start) return false;
  for (let index = 0; index < name.length; index++) {
    if (name[index] !== bytes[start + index]) return false;
  }
  return true;
}

// hot path
/**
 * Coin name, as bytes of a frame, → its entry, without building a string. Open hashing over the names
 * of all streamed coins; rebuilt on insertion, which is rare.
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

export class CoinTable<Entry> {
  #buckets: Named<Entry>[][] = [[]];
  #mask = 0;
  readonly #byCoin = new Map<string, Entry>();

  get size(): number {
    return this.#byCoin.size;
  }

  get(coin: string): Entry | undefined {
    return this.#byCoin.get(coin);
  }

  values(): IterableIterator<Entry> {
    return this.#byCoin.values();
  }

  set(coin: string, entry: Entry): void {
    this.#byCoin.set(coin, entry);
    this.#rebuild();
  }

  delete(coin: string): void {
    if (this.#byCoin.delete(coin)) this.#rebuild();
  }

  /** The entry of the coin whose name is bytes[start … end-1]. */
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
    while (size < this.#byCoin.size * SPREAD) size *= 2;
    this.#mask = size - 1;
    this.#buckets = Array.from({ length: size }, () => []);
    for (const [coin, entry] of this.#byCoin) {
      const name = Buffer.from(coin, "utf8");
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

// hot path
/**
 * Symbol bytes → slot, without building a string: an open-addressed table of at most MAX_SYMBOLS
 * names. Slots are dense, never reused, and stay what they were for the life of the table.
 */

/** About 580 symbols were listed in September 2026; registering more than this throws (an instrument load that large is a bug). */
export const MAX_SYMBOLS = 4096;
const TABLE_SIZE = MAX_SYMBOLS * 4;
const MASK = TABLE_SIZE - 1;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export class SymbolTable {
  /** Result of the last `find`: -1 when the name is not registered. */
  foundSlot = -1;
  /** By slot. */
  readonly names: string[] = [];
  readonly priceDecimals = new Uint8Array(MAX_SYMBOLS);
  readonly qtyDecimals = new Uint8Array(MAX_SYMBOLS);
  readonly #table = new Int32Array(TABLE_SIZE).fill(-1);
  readonly #bytes: Uint8Array[] = [];

  get count(): number {
    return this.names.length;
  }

  register(name: string, priceDecimals: number, qtyDecimals: number): number {
    const known = this.slotOf(name);
    const slot = known >= 0 ? known : this.names.length;
    if (slot >= MAX_SYMBOLS) throw new RangeError(`more than ${MAX_SYMBOLS} symbols`);
    this.priceDecimals[slot] = priceDecimals;
    this.qtyDecimals[slot] = qtyDecimals;
    if (known >= 0) return known;
    const bytes = Buffer.from(name, "utf8");
    this.names.push(name);
    this.#bytes.push(bytes);
    let hash = 0;
    for (const byte of bytes) hash = (Math.imul(hash, 31) + byte) | 0;
    let index = spread(hash);
    while ((this.#table[index] as number) >= 0) index = (index + 1) & MASK;
    this.#table[index] = slot;
    return slot;
  }

  /** -1 when not registered. For set-up code and the careful path. */
  slotOf(name: string): number {
    // A Buffer, as frames are: `find` then sees one kind of array for life and stays optimised.
    const quoted = Buffer.from(`"${name}"`, "utf8");
    return this.find(quoted, 0, quoted.length) < 0 ? -1 : this.foundSlot;
  }

  /** Reads the quoted name at `start`; returns the position after its closing quote, or -1 when there is no plain string. */
  find(bytes: Uint8Array, start: number, end: number): number {
    this.foundSlot = -1;
    if (bytes[start] !== QUOTE) return -1;
    let at = start + 1;
    let hash = 0;
    let byte = bytes[at] as number;
    while (byte !== QUOTE) {
      if (at >= end || byte === BACKSLASH) return -1;
      hash = (Math.imul(hash, 31) + byte) | 0;
      byte = bytes[++at] as number;
    }
    let index = spread(hash);
    let slot = this.#table[index] as number;
    while (slot >= 0) {
      if (this.#equals(slot, bytes, start + 1, at)) {
        this.foundSlot = slot;
        return at + 1;
      }
      index = (index + 1) & MASK;
      slot = this.#table[index] as number;
    }
    return at + 1;
  }

  #equals(slot: number, bytes: Uint8Array, start: number, end: number): boolean {
    const name = this.#bytes[slot] as Uint8Array;
    if (name.length !== end - start) return false;
    for (let index = 0; index < name.length; index++) {
      if (name[index] !== bytes[start + index]) return false;
    }
    return true;
  }
}

function spread(hash: number): number {
  return (hash ^ (hash >>> 15)) & MASK;
}

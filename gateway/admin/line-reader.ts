/**
 * Bytes of a socket → lines. Holds at most one unfinished line of `bytesMax` bytes; the rest of a chunk waits for its
 * turn, so that the lines behind one are read only after it. Pure.
 */
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const EMPTY = Buffer.alloc(0);

export type ReadLine =
  | { readonly kind: "line"; readonly text: string }
  /** No whole line has arrived. */
  | { readonly kind: "none" }
  | { readonly kind: "too-long" }
  | { readonly kind: "not-utf8" };

export class LineReader {
  readonly #bytesMax: number;
  readonly #decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  #rest: Buffer = EMPTY;
  /** Bytes of `#rest` that have been searched for a line end, so that single bytes do not cost their square. */
  #searched = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get restBytes(): number {
    return this.#rest.length;
  }

  push(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
  }

  /** Empty lines are skipped. */
  next(): ReadLine {
    for (;;) {
      const end = this.#rest.indexOf(LINE_FEED, this.#searched);
      if (end < 0) {
        this.#searched = this.#rest.length;
        return this.#rest.length > this.#bytesMax ? { kind: "too-long" } : { kind: "none" };
      }
      const bytes = this.#rest.subarray(0, this.#rest[end - 1] === CARRIAGE_RETURN ? end - 1 : end);
      this.#rest = this.#rest.subarray(end + 1);
      this.#searched = 0;
      if (bytes.length > this.#bytesMax) return { kind: "too-long" };
      if (bytes.length > 0) return this.#decode(bytes);
    }
  }

  #decode(bytes: Buffer): ReadLine {
    try {
      return { kind: "line", text: this.#decoder.decode(bytes) };
    } catch {
      // A replacement character would change what was asked for.
      return { kind: "not-utf8" };
    }
  }
}

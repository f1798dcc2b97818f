/**
 * Chunks of any size → lines, without copying where a line lies inside one chunk. Invariant: the lines
 * are the same however the bytes are cut. A last line without a newline is delivered by `end`.
 */

/** A line longer than this is dropped and counted: the largest recorded frame is a 100 kB snapshot. */
export const MAX_LINE_BYTES = 4 * 1024 * 1024;

const NEWLINE = 0x0a;
const RETURN = 0x0d;

export type LineHandler = (bytes: Buffer, start: number, end: number) => void;

export class LineSplitter {
  readonly #onLine: LineHandler;
  #parts: Buffer[] = [];
  #partBytes = 0;
  #isSkipping = false;
  overlongCount = 0;

  /** The bytes handed to `onLine` are valid only during the call. */
  constructor(onLine: LineHandler) {
    this.#onLine = onLine;
  }

  push(chunk: Buffer): void {
    let start = 0;
    for (;;) {
      const newlineAt = chunk.indexOf(NEWLINE, start);
      if (newlineAt < 0) break;
      if (this.#isSkipping) {
        this.#isSkipping = false;
      } else if (this.#parts.length === 0) {
        this.#emit(chunk, start, newlineAt);
      } else {
        const whole = Buffer.concat([...this.#parts, chunk.subarray(start, newlineAt)]);
        this.#parts = [];
        this.#partBytes = 0;
        this.#emit(whole, 0, whole.length);
      }
      start = newlineAt + 1;
    }
    if (start >= chunk.length || this.#isSkipping) return;
    // Copied: the caller may reuse its chunk.
    this.#parts.push(Buffer.from(chunk.subarray(start)));
    this.#partBytes += chunk.length - start;
    if (this.#partBytes > MAX_LINE_BYTES) {
      this.overlongCount++;
      this.#isSkipping = true;
      this.#parts = [];
      this.#partBytes = 0;
    }
  }

  /** Delivers what is left after the last newline, if anything. */
  end(): void {
    if (this.#parts.length === 0) return;
    const rest = Buffer.concat(this.#parts);
    this.#parts = [];
    this.#partBytes = 0;
    this.#emit(rest, 0, rest.length);
  }

  #emit(bytes: Buffer, start: number, end: number): void {
    const trimmedEnd = end > start && bytes[end - 1] === RETURN ? end - 1 : end;
    if (trimmedEnd > start) this.#onLine(bytes, start, trimmedEnd);
  }
}

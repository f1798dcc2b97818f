/**
 * Buffers for batches, used again once a batch is stored: faulting in a fresh megabyte costs more than filling it.
 * A buffer whose batch had any other end is left to the collector, as an unfinished request may still read it.
 *
 * Bound: `keepMax` idle buffers; more are left to the collector.
 */
export class BufferPool {
  readonly #bufferBytes: number;
  readonly #keepMax: number;
  readonly #idle: Buffer[] = [];

  constructor(bufferBytes: number, keepMax: number) {
    this.#bufferBytes = bufferBytes;
    this.#keepMax = keepMax;
  }

  get idleCount(): number {
    return this.#idle.length;
  }

  take(): Buffer {
    return this.#idle.pop() ?? Buffer.allocUnsafeSlow(this.#bufferBytes);
  }

  give(buffer: Buffer): void {
    if (buffer.length === this.#bufferBytes && this.#idle.length < this.#keepMax) this.#idle.push(buffer);
  }

  /** Of a stored batch: its bytes are a view of the pool's buffer. */
  recycle(bytes: Uint8Array): void {
    if (bytes.byteOffset === 0 && bytes.buffer.byteLength === this.#bufferBytes) this.give(Buffer.from(bytes.buffer));
  }
}

/**
 * Buffers for batches, reused once a batch is stored: faulting in a fresh megabyte costs more than filling it. A buffer
 * whose batch had any other outcome is left to the garbage collector, because an unfinished request may still read it.
 *
 * Bound: `keepMax` idle buffers. More are left to the collector, and so are buffers that were not needed for WINDOW
 * batches: a store that was slow for a moment must not hold memory for good.
 */
export class BufferPool {
  readonly #bufferBytes: number;
  readonly #keepMax: number;
  readonly #idle: Buffer[] = [];
  /** Smallest number of idle buffers since the window began: this many were never in use. */
  #leastIdle = 0;
  #taken = 0;

  constructor(bufferBytes: number, keepMax: number) {
    this.#bufferBytes = bufferBytes;
    this.#keepMax = keepMax;
  }

  get idleCount(): number {
    return this.#idle.length;
  }

  take(): Buffer {
    if (++this.#taken >= WINDOW) this.#letGo();
    const buffer = this.#idle.pop() ?? Buffer.allocUnsafeSlow(this.#bufferBytes);
    this.#leastIdle = Math.min(this.#leastIdle, this.#idle.length);
    return buffer;
  }

  give(buffer: Buffer): void {
    if (buffer.length === this.#bufferBytes && this.#idle.length < this.#keepMax) this.#idle.push(buffer);
  }

  #letGo(): void {
    this.#idle.splice(0, this.#leastIdle);
    this.#leastIdle = this.#idle.length;
    this.#taken = 0;
  }

  /** Takes back the buffer of a stored batch, whose bytes are a view of it. */
  recycle(bytes: Uint8Array): void {
    if (bytes.byteOffset === 0 && bytes.buffer.byteLength === this.#bufferBytes) this.give(Buffer.from(bytes.buffer));
  }
}

/** About a minute of an embedded store that keeps up. */
const WINDOW = 256;

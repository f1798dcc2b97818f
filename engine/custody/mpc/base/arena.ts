/**
 * The secret buffers of a session, or of one stretch of it, wiped at once. Each lies at an address that stays
 * (`secretBuffer`). Wiping is idempotent; an arena that was wiped gives nothing out, so no secret can outlive its end.
 */
import { secretBuffer } from "../../sealing/secret-bytes.js";

export class Arena {
  readonly #buffers: Buffer[] = [];
  #wiped = false;

  /** Zeros, to be filled by the caller. */
  take(byteLength: number): Buffer {
    this.#assertOpen();
    const buffer = secretBuffer(byteLength);
    this.#buffers.push(buffer);
    return buffer;
  }

  /** A copy of `source`, which is filled with zeros: for results that Node allocates itself. */
  moved(source: Uint8Array): Buffer {
    const buffer = this.take(source.length);
    buffer.set(source);
    source.fill(0);
    return buffer;
  }

  wipe(): void {
    this.#wiped = true;
    for (const buffer of this.#buffers) buffer.fill(0);
    this.#buffers.length = 0;
  }

  get isWiped(): boolean {
    return this.#wiped;
  }

  #assertOpen(): void {
    if (this.#wiped) throw new Error("arena is wiped");
  }
}

/** Runs `body` with an arena of its own, which is wiped however `body` ends. */
export function withArena<Result>(body: (arena: Arena) => Result): Result {
  const arena = new Arena();
  try {
    return body(arena);
  } finally {
    arena.wipe();
  }
}

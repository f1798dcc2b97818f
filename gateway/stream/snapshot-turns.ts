/**
 * Spreads snapshots over several turns of the event loop: a number of bytes per turn, in turn among the connections
 * that wait. Without it a hundred subscribers with thousands of books would stop the service for seconds.
 *
 * Bounds: each waiting entry is a subscription, and those are bounded (limits.ts).
 */
import type { StreamKey } from "./stream-key.js";

interface Reader {
  readonly isOpen: boolean;
  begin(key: StreamKey): void;
}

export class SnapshotTurns {
  readonly #turnBytes: number;
  /** Runs at the end of this turn. */
  readonly #defer: (run: () => void) => void;
  /** In the order of their turns. */
  readonly #waiting = new Map<Reader, Set<StreamKey>>();
  #bytes = 0;
  #isDeferred = false;
  #isServing = false;

  constructor(turnBytes: number, defer: (run: () => void) => void) {
    this.#turnBytes = turnBytes;
    this.#defer = defer;
  }

  /** Reports whether it may be made now; otherwise the reader's `begin` is called in a later turn. */
  admits(reader: Reader, key: StreamKey): boolean {
    const isFree = this.#bytes < this.#turnBytes && (this.#isServing || this.#waiting.size === 0);
    if (isFree) return true;
    const keys = this.#waiting.get(reader);
    if (keys === undefined) this.#waiting.set(reader, new Set([key]));
    else keys.add(key);
    this.#deferServing();
    return false;
  }

  made(bytes: number): void {
    this.#bytes += bytes;
    this.#deferServing();
  }

  #deferServing(): void {
    if (this.#isDeferred) return;
    this.#isDeferred = true;
    this.#defer(() => {
      this.#isDeferred = false;
      this.#bytes = 0;
      this.#serve();
    });
  }

  /** One for each in turn; a reader that still waits goes to the end. */
  #serve(): void {
    this.#isServing = true;
    try {
      for (const [reader, keys] of this.#waiting) {
        if (this.#bytes >= this.#turnBytes) break;
        this.#waiting.delete(reader);
        const [key] = keys;
        if (key === undefined || !reader.isOpen) continue;
        keys.delete(key);
        // Put back first: a reader that cannot take it now may report that.
        if (keys.size > 0) this.#waiting.set(reader, keys);
        reader.begin(key);
      }
    } finally {
      this.#isServing = false;
      if (this.#waiting.size > 0) this.#deferServing();
    }
  }
}

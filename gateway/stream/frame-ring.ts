/**
 * The updates of a key that a returning client may have missed, as they were sent.
 *
 *   push →  [ … seq-2 | seq-1 | seq ]   oldest out first
 *
 * Invariant: the content has no gap. Bounds: RING_EVENTS_MAX updates, RING_AGE_MS, RING_CHARS_MAX; the oldest update is
 * dropped, and a client that needs it gets a new snapshot.
 */
export const RING_EVENTS_MAX = 1024;
export const RING_AGE_MS = 5 * 60_000;
/** Enough for a full ring of order events; of positions that all move with every mark, for a few seconds. */
const RING_CHARS_MAX = 1024 * 1024;

interface RingUpdate {
  readonly seq: number;
  /** Wall ms of the frame. */
  readonly tsMs: number;
  /** Its `data`. */
  readonly data: string;
}

export class FrameRing {
  #updates: RingUpdate[] = [];
  /** Index of the first valid update; those before it are gone. */
  #start = 0;
  #chars = 0;

  push(update: RingUpdate): void {
    this.#updates.push(update);
    this.#chars += update.data.length;
    while (this.#updates.length - this.#start > RING_EVENTS_MAX || this.#chars > RING_CHARS_MAX) this.#drop();
    this.#expire(update.tsMs);
    // The memory of dropped updates is freed at intervals, not with each update.
    if (this.#start > RING_EVENTS_MAX) {
      this.#updates = this.#updates.slice(this.#start);
      this.#start = 0;
    }
  }

  clear(): void {
    this.#updates = [];
    this.#start = 0;
    this.#chars = 0;
  }

  /** Returns the updates that lead from `seq` to `head`; null when the first of them are gone. */
  after(seq: number, head: number, nowMs: number): readonly RingUpdate[] | null {
    if (seq === head) return [];
    this.#expire(nowMs);
    const first = this.#updates[this.#start];
    if (seq > head || first === undefined || first.seq > seq + 1) return null;
    return this.#updates.slice(this.#start + (seq + 1 - first.seq));
  }

  #expire(nowMs: number): void {
    for (let first = this.#updates[this.#start]; first !== undefined; first = this.#updates[this.#start]) {
      if (nowMs - first.tsMs <= RING_AGE_MS) return;
      this.#drop();
    }
  }

  #drop(): void {
    this.#chars -= this.#updates[this.#start]?.data.length ?? 0;
    // Frees its text at once.
    this.#updates[this.#start] = GONE;
    this.#start++;
  }
}

const GONE: RingUpdate = { seq: 0, tsMs: 0, data: "" };

/**
 * The updates of a key that a returning client may have missed, as they were sent.
 *
 *   push →  [ … seq-2 | seq-1 | seq ]   oldest out first
 *
 * Invariant: what is held is without a hole. Bounds: RING_EVENTS_MAX updates, RING_AGE_MS, RING_CHARS_MAX; the oldest
 * goes, and who was there is told to start anew.
 */
export const RING_EVENTS_MAX = 1024;
export const RING_AGE_MS = 5 * 60_000;
/** A full ring of order events; one of positions that all move with every mark holds a few seconds. */
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
  /** The first one that counts; those before it are gone. */
  #start = 0;
  #chars = 0;

  push(update: RingUpdate): void {
    this.#updates.push(update);
    this.#chars += update.data.length;
    while (this.#updates.length - this.#start > RING_EVENTS_MAX || this.#chars > RING_CHARS_MAX) this.#drop();
    this.#expire(update.tsMs);
    // Memory of what is gone is given back now and then, not with each update.
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

  /** Those that lead from `seq` to `head`; null when the first of them are gone. */
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
    // Its text is let go at once.
    this.#updates[this.#start] = GONE;
    this.#start++;
  }
}

const GONE: RingUpdate = { seq: 0, tsMs: 0, data: "" };

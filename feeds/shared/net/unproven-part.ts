/**
 * The small part of one lane that is shared by callers that the venue has never answered well: a new trader, or a caller
 * with made-up keys. It fills evenly; what a caller took comes back once the venue answers it well, so that the part is
 * spent by strangers only, however many genuine callers are new at once.
 *
 * Order: by how long who pays waits for its turn, over all its calls, so that one who asks again keeps its place among
 * those who ask once under ever new names. A turn is the few calls of one close; after it the payer goes to the end of
 * the line. Where an API key pays it is in line once, however many credentials it brings; what comes back is what the
 * credentials took that were answered well. Bounded: who was not seen for longest is forgotten, and counts as new.
 */
import { LRUCache } from "lru-cache";

/** Of what the lane can take of a window; also what may be taken at once. */
const UNPROVEN_PART = 0.25;
const MAX_CALLERS = 4_096;
/** A caller that is not seen for so long is out of the line. */
const IN_LINE_MS = 60_000;
/** A read, a setting, an order and a look at it. */
const TURN_CALLS = 4;

/** Of the connections. */
const UNPROVEN_SLOTS = 0.25;
/** Of those that only exits may take, which exits of known callers find free of strangers whatever else is slow. */
const KEPT_SLOTS = 0.5;

interface Place {
  sinceMs: number;
  seenMs: number;
  /** Of the turn. */
  callsLeft: number;
}

export class UnprovenPart {
  readonly #capacity: number;
  readonly #perMs: number;
  /** By payer. */
  readonly #line = new LRUCache<string, Place>({ max: MAX_CALLERS });
  /** By caller. */
  readonly #taken = new LRUCache<string, number>({ max: MAX_CALLERS });
  #left: number;
  #filledMs = 0;

  /** `ceiling`: weight that the lane can take of a window. */
  constructor(ceiling: number, windowMs: number) {
    this.#capacity = ceiling * UNPROVEN_PART;
    this.#perMs = this.#capacity / windowMs;
    this.#left = this.#capacity;
  }

  /** When it got in line; now for a new one. */
  inLineSinceMs(payer: string, nowMs: number): number {
    const known = this.#line.get(payer);
    if (known !== undefined && nowMs - known.seenMs <= IN_LINE_MS) {
      known.seenMs = nowMs;
      return known.sinceMs;
    }
    this.#line.set(payer, { sinceMs: nowMs, seenMs: nowMs, callsLeft: TURN_CALLS });
    return nowMs;
  }

  /** 0: there is enough. What is heavier than the part is taken when the part is whole. */
  waitMs(weight: number, nowMs: number): number {
    this.#fill(nowMs);
    const missing = Math.min(costOf(weight), this.#capacity) - this.#left;
    return missing <= 0 ? 0 : missing / this.#perMs;
  }

  take(caller: string, payer: string, weight: number, nowMs: number): void {
    this.#fill(nowMs);
    this.#left -= costOf(weight);
    this.#taken.set(caller, (this.#taken.get(caller) ?? 0) + costOf(weight));
    this.inLineSinceMs(payer, nowMs);
    const place = this.#line.get(payer);
    if (place === undefined) return;
    if (--place.callsLeft > 0) return;
    place.sinceMs = nowMs;
    place.callsLeft = TURN_CALLS;
  }

  untake(caller: string, weight: number): void {
    const taken = this.#taken.get(caller);
    if (taken === undefined) return;
    const back = Math.min(taken, costOf(weight));
    this.#taken.set(caller, taken - back);
    this.#left = Math.min(this.#capacity, this.#left + back);
  }

  /** The venue answered it well: what it took was no stranger's. */
  refund(caller: string): void {
    this.#left = Math.min(this.#capacity, this.#left + (this.#taken.get(caller) ?? 0));
    this.#taken.delete(caller);
    // The place in line of a key stays: other credentials may wait at its cost.
    this.#line.delete(caller);
  }

  #fill(nowMs: number): void {
    this.#left = Math.min(this.#capacity, this.#left + (nowMs - this.#filledMs) * this.#perMs);
    this.#filledMs = nowMs;
  }
}

/** The connections that strangers hold, over all lanes: a part of all, and never the last ones. */
export class UnprovenSlots {
  readonly #most: number;
  readonly #below: number;
  #held = 0;

  /** `slots`: all of them; `exitSlots`: those of them that only exits may take. */
  constructor(slots: number, exitSlots: number) {
    this.#most = Math.max(1, Math.floor(slots * UNPROVEN_SLOTS));
    this.#below = slots - Math.ceil(exitSlots * KEPT_SLOTS);
  }

  /** `busySlots`: held by all callers. */
  isFree(busySlots: number): boolean {
    return this.#held < this.#most && busySlots < this.#below;
  }

  take(): void {
    this.#held++;
  }

  release(): void {
    this.#held--;
  }
}

/** A call that costs our address nothing still costs a turn. */
function costOf(weight: number): number {
  return Math.max(1, weight);
}

/**
 * What one venue's room knows of its callers, by a name that only the holder of the credentials can have: whether the
 * venue ever answered them well, and what it answered when it refused the very key.
 *
 * Who was once answered well is known for as long as it is remembered, and no later answer of the venue is kept
 * against it: a lagging server may refuse a good key for a moment, and an exit must not wait for that. A refusal of a
 * stranger's key is answered again for a few seconds, word by word, in place of asking the venue.
 *
 * Bounds: `proven` callers and `refused` keys apart from each other, so that no flood of keys makes a known caller a
 * stranger; the one not seen for longest is forgotten.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../../engine/domain/clock.js";
import type { HttpResponse } from "./call-results.js";
import { monoMs } from "./weight-window.js";

/** A key may be registered the next moment. */
export const REFUSAL_BELIEVED_MS = 5_000;

export interface StandingBounds {
  readonly proven?: number;
  readonly refused?: number;
}

interface Refused {
  readonly answer: HttpResponse;
  readonly untilMs: number;
}

export class CallerStanding {
  /** A caller is known from here on. */
  onKnown: (caller: string) => void = () => {};
  readonly #clock: Clock;
  readonly #proven: LRUCache<string, true>;
  readonly #refused: LRUCache<string, Refused>;

  constructor(clock: Clock, { proven = 16_384, refused = 4_096 }: StandingBounds = {}) {
    this.#clock = clock;
    this.#proven = new LRUCache({ max: proven });
    this.#refused = new LRUCache({ max: refused });
  }

  isProven(caller: string): boolean {
    return this.#proven.get(caller) === true;
  }

  /** The venue answered what only a right key can ask, or named the key as one of its own. */
  answeredWell(caller: string): void {
    if (this.isProven(caller)) return;
    this.#proven.set(caller, true);
    this.#refused.delete(caller);
    this.onKnown(caller);
  }

  /** `answer` refuses the key itself: not the time, the address, a limit or the order. The first one counts. */
  refused(caller: string, answer: HttpResponse): void {
    if (this.#proven.has(caller) || this.refusalOf(caller) !== null) return;
    this.#refused.set(caller, { answer, untilMs: monoMs(this.#clock) + REFUSAL_BELIEVED_MS });
  }

  /** The venue's answer about the key a moment ago. */
  refusalOf(caller: string): HttpResponse | null {
    const refused = this.#refused.get(caller);
    if (refused === undefined) return null;
    if (refused.untilMs > monoMs(this.#clock)) return refused.answer;
    this.#refused.delete(caller);
    return null;
  }
}

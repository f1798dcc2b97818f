/**
 * A venue's answers, trusted for a stated time of the monotonic clock. Bound: `max` entries, the least recently used
 * goes. An answer that is not trusted any more remains as the last one.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../../engine/domain/clock.js";
import { monoMs } from "../net/weight-window.js";

interface Entry<Value> {
  readonly value: Value;
  /** Monotonic. */
  readonly untilMs: number;
}

export class TimedCache<Key extends string | number, Value> {
  readonly #clock: Clock;
  readonly #entries: LRUCache<Key, Entry<Value>>;

  constructor(clock: Clock, max: number) {
    this.#clock = clock;
    this.#entries = new LRUCache({ max });
  }

  /** Null where nothing is believed. */
  get(key: Key): Value | null {
    const entry = this.#entries.get(key);
    return entry !== undefined && monoMs(this.#clock) < entry.untilMs ? entry.value : null;
  }

  /** The last answer, however old; null where none is kept. Counts as no use. */
  last(key: Key): Value | null {
    return this.#entries.peek(key)?.value ?? null;
  }

  set(key: Key, value: Value, ttlMs: number): void {
    this.#entries.set(key, { value, untilMs: monoMs(this.#clock) + ttlMs });
  }

  /** It is not trusted any more, and remains the last answer. */
  doubt(key: Key): void {
    const entry = this.#entries.peek(key);
    if (entry !== undefined) this.#entries.set(key, { ...entry, untilMs: Number.NEGATIVE_INFINITY });
  }

  delete(key: Key): void {
    this.#entries.delete(key);
  }
}

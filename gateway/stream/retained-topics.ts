/**
 * Private keys without a subscriber, retained a while for the client that lost its connection and returns.
 *
 * Invariant: a retained key keeps only its sequence numbers and their updates; its accounts are closed and their
 * credentials gone, so whoever resumes it sends them again. A feed that has none hears on (feed.ts). Bounds:
 * RETAINED_KEYS_MAX keys, the oldest is dropped; RING_AGE_MS each.
 */
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import { RING_AGE_MS } from "./frame-ring.js";
import { RETAINED_KEYS_MAX } from "./limits.js";
import type { StreamKey } from "./stream-key.js";

interface Retained {
  readonly key: StreamKey;
  readonly untilNs: number;
}

export class RetainedTopics {
  readonly #clock: Clock;
  readonly #keysMax: number;
  /** The oldest first. */
  readonly #retained = new Map<string, Retained>();
  #timer: TimerHandle | null = null;

  constructor(clock: Clock, keysMax = RETAINED_KEYS_MAX) {
    this.#clock = clock;
    this.#keysMax = keysMax;
  }

  get count(): number {
    return this.#retained.size;
  }

  /** The last subscriber of the key has left. */
  add(key: StreamKey): void {
    key.rest();
    this.#retained.delete(key.text);
    this.#retained.set(key.text, { key, untilNs: this.#clock.monoNs() + RING_AGE_MS * 1e6 });
    if (this.#retained.size > this.#keysMax) this.#forgetOldest();
    this.#await();
  }

  get(text: string): StreamKey | null {
    const retained = this.#retained.get(text);
    return retained === undefined || retained.untilNs <= this.#clock.monoNs() ? null : retained.key;
  }

  /** The key has a subscriber again. */
  remove(key: StreamKey): void {
    this.#retained.delete(key.text);
  }

  clear(): void {
    if (this.#timer !== null) this.#clock.clearTimer(this.#timer);
    this.#timer = null;
    while (this.#retained.size > 0) this.#forgetOldest();
  }

  #forgetOldest(): void {
    const oldest = this.#retained.values().next();
    if (oldest.done === true) return;
    this.#retained.delete(oldest.value.key.text);
    oldest.value.key.close();
  }

  /** One timer, for the oldest. */
  #await(): void {
    const oldest = this.#retained.values().next();
    if (this.#timer !== null || oldest.done === true) return;
    const waitMs = Math.max(0, (oldest.value.untilNs - this.#clock.monoNs()) / 1e6);
    this.#timer = this.#clock.setTimer(() => {
      this.#timer = null;
      const nowNs = this.#clock.monoNs();
      for (const { key, untilNs } of [...this.#retained.values()]) {
        if (untilNs > nowNs) break;
        this.#retained.delete(key.text);
        key.close();
      }
      this.#await();
    }, waitMs);
  }
}

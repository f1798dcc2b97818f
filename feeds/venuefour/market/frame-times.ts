// hot path
/** What the venue's time on a frame says: whether it can be true, and how late the frame is by it. */
import type { Clock } from "../../../engine/domain/clock.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import { isTradeTime } from "../../shared/book/stamps.js";
import type { MarketEntry } from "./entry.js";

export class FrameTimes {
  readonly #clock: Clock;
  readonly #clockOffset: ClockOffset;

  constructor(clock: Clock, clockOffset: ClockOffset) {
    this.#clock = clock;
    this.#clockOffset = clockOffset;
  }

  /** Not from the far future; and then it says how far the venue's clock is ahead at least. */
  isPlausible(timeMs: number): boolean {
    const nowMs = this.#clock.wallMs();
    if (!this.#clockOffset.isPlausible(timeMs, nowMs)) return false;
    this.#clockOffset.addEvent(timeMs, nowMs);
    return true;
  }

  isTradeTime(timeMs: number): boolean {
    return isTradeTime(timeMs, this.#clockOffset, this.#clock.wallMs());
  }

  /** The latest time that the venue's clock can show now. */
  latestMs(): number {
    return this.#clockOffset.latestMs(this.#clock.wallMs());
  }

  venueNowMs(): number {
    return Math.round(this.#clock.wallMs() + this.#clockOffset.offsetMs);
  }

  /**
   * `t` is the time of the change, so an old one is normal for a book that is repeated, or the first of a connection.
   * News of a book in hand comes within one beat of the timer: if it is older than a book may be, it was held up.
   */
  bookLateNs(entry: MarketEntry, timeMs: number, tsRecvNs: number): number {
    if (entry.applier.isNews(timeMs)) return this.measureLate(entry, timeMs, tsRecvNs);
    return entry.shard.lateNs(tsRecvNs);
  }

  /** A frame held up on its way longer than a book may be old proves only what was true when it left. */
  measureLate(entry: MarketEntry, timeMs: number, tsRecvNs: number): number {
    const lateNs = this.#clockOffset.lateMs(timeMs, this.#clock.wallMs(), entry.market.maxBookAgeMs) * 1e6;
    entry.shard.measured(lateNs, tsRecvNs);
    return lateNs;
  }
}

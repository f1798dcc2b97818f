/**
 * How far a venue's clock is ahead of ours (offset = venue wall − our wall), from two kinds of evidence.
 *
 * A round trip bounds it on both sides: the venue stamped its answer between our send and our receipt,
 * and a `Date` header only says within which second. The bounds of all recent round trips are
 * intersected, so even whole-second stamps soon pin the offset down. Stream events bound it from below:
 * an event cannot be received before it happened. Real recordings have our clock behind the venue's by
 * more than a second; with the lower bound applied no age comes out negative.
 */
import type { Clock } from "../../engine/domain/clock.js";
import type { VenueClock } from "../../engine/ports.js";

/** The offset lies in [lowerMs, upperMs]. */
interface Bounds {
  readonly lowerMs: number;
  readonly upperMs: number;
  readonly atMs: number;
}

/** Clocks drift: evidence older than this is dropped. */
const WINDOW_MS = 10 * 60_000;
const MAX_ROUND_TRIPS = 32;
/** The least of as many stamps says the venue's time, so that one garbled stamp says nothing. */
const STAMPS = 3;
/** An event that claims more than round trips allow, by more than this, carries a broken stamp: one garbled frame must not move the clock. */
const EVENT_TOLERANCE_MS = 2_000;
/** Without a round trip to compare with, no clock is believed to be further ahead than this. */
const MAX_UNMEASURED_MS = 60_000;

export class ClockOffset implements VenueClock {
  readonly #clock: Clock;
  readonly #roundTrips: Bounds[] = [];
  /** Of the last answers: the venue's stamp less the monotonic time of its receipt. */
  readonly #stampsMs: number[] = [];
  /** Lower bounds of the present and the previous half window, so that an old one expires. */
  #lowerNowMs = Number.NEGATIVE_INFINITY;
  #lowerBeforeMs = Number.NEGATIVE_INFINITY;
  /** By round trips the offset is at most this. */
  #upperMs = Number.POSITIVE_INFINITY;
  #halfWindowIndex = 0;
  #estimateMs = 0;
  /** The offset is provably at least this. */
  #floorMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Milliseconds the venue's clock is ahead of ours; 0 without evidence. */
  get offsetMs(): number {
    return this.#estimateMs;
  }

  /**
   * One answered request. `venueMs` is the venue's stamp, floored to `resolutionMs`
   * (1 for a server time, 1000 for a `Date` header).
   */
  addRoundTrip(sentAtMs: number, receivedAtMs: number, venueMs: number, resolutionMs: number): void {
    if (!Number.isFinite(venueMs)) return;
    this.#stampsMs.push(venueMs - this.#clock.monoNs() / 1e6);
    if (this.#stampsMs.length > STAMPS) this.#stampsMs.shift();
    // A wall clock that stepped in between proves nothing of the offset.
    if (!(receivedAtMs >= sentAtMs)) return;
    const nowMs = this.#clock.wallMs();
    const upperMs = venueMs + resolutionMs - sentAtMs;
    // An event heard while there was no round trip to compare with may be from before a step; no later one could lower it.
    if (this.#roundTrips.length === 0 && Math.max(this.#lowerNowMs, this.#lowerBeforeMs) > upperMs + EVENT_TOLERANCE_MS)
      this.#forgetOffset();
    this.#roundTrips.push({ lowerMs: venueMs - receivedAtMs, upperMs, atMs: nowMs });
    if (this.#roundTrips.length > MAX_ROUND_TRIPS) this.#roundTrips.shift();
    this.#estimate(nowMs);
  }

  /** One stream event. Cheap enough for every frame; recomputes only when it says something new. */
  addEvent(venueMs: number, receivedAtMs: number): void {
    const lowerMs = venueMs - receivedAtMs;
    if (!(lowerMs <= Math.min(this.#upperMs + EVENT_TOLERANCE_MS, this.#ceilingMs()))) return;
    const halfWindowIndex = Math.floor(receivedAtMs / (WINDOW_MS / 2));
    if (halfWindowIndex !== this.#halfWindowIndex) {
      const isNext = halfWindowIndex === this.#halfWindowIndex + 1;
      this.#lowerBeforeMs = isNext ? this.#lowerNowMs : Number.NEGATIVE_INFINITY;
      this.#lowerNowMs = lowerMs;
      this.#halfWindowIndex = halfWindowIndex;
      this.#estimate(receivedAtMs);
    } else if (lowerMs > this.#lowerNowMs) {
      this.#lowerNowMs = lowerMs;
      this.#estimate(receivedAtMs);
    }
  }

  /** A clock was found to have stepped: all evidence is from before. The estimate stays until there is new one. */
  forget(): void {
    this.#forgetOffset();
    this.#stampsMs.length = 0;
  }

  #forgetOffset(): void {
    this.#roundTrips.length = 0;
    this.#lowerNowMs = Number.NEGATIVE_INFINITY;
    this.#lowerBeforeMs = Number.NEGATIVE_INFINITY;
    this.#upperMs = Number.POSITIVE_INFINITY;
  }

  nowAtLeastMs(): number | null {
    return this.#stampsMs.length === 0 ? null : Math.min(...this.#stampsMs) + this.#clock.monoNs() / 1e6;
  }

  #ceilingMs(): number {
    return this.#upperMs === Number.POSITIVE_INFINITY ? MAX_UNMEASURED_MS : Number.POSITIVE_INFINITY;
  }

  /** Age of a venue stamp at our wall time `nowMs`; never negative. */
  ageMs(venueMs: number, nowMs: number): number {
    return Math.max(0, nowMs + this.#estimateMs - venueMs);
  }

  /** The age that a venue stamp has at the very least, by all evidence; 0 without any. */
  provenAgeMs(venueMs: number, nowMs: number): number {
    return Math.max(0, nowMs + this.#floorMs - venueMs);
  }

  #estimate(nowMs: number): void {
    const eventMs = Math.max(this.#lowerNowMs, this.#lowerBeforeMs);
    let lowerMs = Number.NEGATIVE_INFINITY;
    let upperMs = Number.POSITIVE_INFINITY;
    // Newest first: evidence from before a step of either clock contradicts what came after, and is left out.
    for (let index = this.#roundTrips.length - 1; index >= 0; index--) {
      const trip = this.#roundTrips[index];
      if (trip === undefined || nowMs - trip.atMs > WINDOW_MS) break;
      const nextLowerMs = Math.max(lowerMs, trip.lowerMs);
      const nextUpperMs = Math.min(upperMs, trip.upperMs);
      if (nextLowerMs > nextUpperMs) continue;
      lowerMs = nextLowerMs;
      upperMs = nextUpperMs;
    }
    this.#upperMs = upperMs;
    this.#floorMs = Math.max(lowerMs, eventMs);
    if (upperMs < Number.POSITIVE_INFINITY) {
      this.#estimateMs = this.#floorMs > upperMs ? this.#floorMs : (this.#floorMs + upperMs) / 2;
    } else if (eventMs > Number.NEGATIVE_INFINITY) {
      // Without a round trip the fastest event stands for one without delay: ages then count from it.
      this.#estimateMs = eventMs;
    }
  }
}

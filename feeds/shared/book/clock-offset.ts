/**
 * How far a venue's clock is ahead of ours (offset = venue wall − our wall), from two kinds of evidence.
 *
 * A round trip bounds it on both sides: the venue stamped its answer between our send and our receipt,
 * and a `Date` header only says within which second. The bounds of all recent round trips are
 * intersected, so even whole-second stamps soon pin the offset down. Stream events bound it from below:
 * an event cannot be received before it happened. Real recordings have our clock behind the venue's by
 * more than a second; with the lower bound applied no age comes out negative.
 *
 * Our wall clock may be set while the process lives (wall-steps.ts). A machine that slept looks like one whose wall clock
 * was set forward, so no arithmetic gives the new offset: only a round trip begun since does (`isProven`; clock-check.ts
 * makes it). Until then the estimate is the latest of what the venue's time may be: a bound comes late, never early, and a
 * frame counts as old as it may be.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { VenueClock } from "../../../engine/ports.js";
import { WallSteps } from "./wall-steps.js";

/** The offset lies in [lowerMs, upperMs]. */
interface Bounds {
  readonly lowerMs: number;
  readonly upperMs: number;
  readonly atMs: number;
}

/** Clocks drift: evidence older than this is dropped. */
const WINDOW_MS = 10 * 60_000;
const MAX_ROUND_TRIPS = 32;
/** The least of as many stamps gives the venue's time, so that one garbled stamp changes nothing. */
const STAMPS = 3;
/** Without a round trip to compare with, no clock is believed to be further ahead than this. */
const MAX_UNMEASURED_MS = 60_000;
/** Nor further behind, a frame's own way included: an older stamp is of no time, or of a change long ago. */
const MAX_UNMEASURED_BEHIND_MS = 120_000;
/** A venue stamps frames and answers by several clocks: so far apart they may be without a step of one. */
const APART_MS = 1_000;
/** A stamp further ahead than this is garbage: taken, it would outdate all that follow. */
const MAX_FUTURE_MS = 5_000;
/** What a frame of a time that is not yet counts as late: longer than any book may be old. */
const UNTIMED_MS = 60_000;

export class ClockOffset implements VenueClock {
  readonly #clock: Clock;
  readonly #steps: WallSteps;
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
  /** Of the estimate, what may be a step forward of our wall clock and no time that passed. */
  #doubtMs = 0;
  /** The offset is provably at least this. */
  #floorMs = Number.NEGATIVE_INFINITY;
  /** Stepped, and no round trip since. */
  #isStepped = false;
  /** Called, perhaps with every frame, while a round trip is needed: after a step, and for stamps that contradict the evidence. */
  onDoubt: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#steps = new WallSteps(clock);
  }

  /** Milliseconds the venue's clock is ahead of ours; 0 without evidence; after a step at the most, until it is proven again. */
  get offsetMs(): number {
    this.#lookForStep();
    return this.#estimateMs;
  }

  /**
   * As `offsetMs`, and after a step the least that it may be: our wall clock with it goes on as the monotonic one does. For
   * what must never be ahead of the venue's time and cannot be taken back, such as nonces that only go up.
   */
  get leastOffsetMs(): number {
    this.#lookForStep();
    return this.#estimateMs - this.#doubtMs;
  }

  /** By a round trip that began after the last step of our wall clock. */
  get isProven(): boolean {
    this.#lookForStep();
    return this.#roundTrips.length > 0;
  }

  /** Taken before a request, and handed in with its round trip. */
  beginRoundTrip(): number {
    this.#lookForStep();
    return this.#steps.count;
  }

  /**
   * One answered request. `venueMs` is the venue's stamp, floored to `resolutionMs`
   * (1 for a server time, 1000 for a `Date` header), `begun` what `beginRoundTrip` gave.
   */
  addRoundTrip(
    sentAtMs: number,
    receivedAtMs: number,
    venueMs: number,
    resolutionMs: number,
    begun: number = this.beginRoundTrip(),
  ): void {
    if (!Number.isFinite(venueMs)) return;
    this.#lookForStep();
    this.#stampsMs.push(venueMs - this.#clock.monoNs() / 1e6);
    if (this.#stampsMs.length > STAMPS) this.#stampsMs.shift();
    // A wall clock that stepped in between proves nothing of the offset.
    if (begun !== this.#steps.count || !(receivedAtMs >= sentAtMs)) return;
    const nowMs = this.#clock.wallMs();
    this.#isStepped = false;
    this.#doubtMs = 0;
    this.#roundTrips.push({ lowerMs: venueMs - receivedAtMs, upperMs: venueMs + resolutionMs - sentAtMs, atMs: nowMs });
    if (this.#roundTrips.length > MAX_ROUND_TRIPS) this.#roundTrips.shift();
    this.#estimate(nowMs);
  }

  /** One stream event. Cheap enough for every frame; recomputes only when it is new evidence. */
  addEvent(venueMs: number, receivedAtMs: number): void {
    this.#lookForStep();
    // A frame that waited through a sleep would make itself fresh.
    if (this.#isStepped) {
      this.onDoubt();
      return;
    }
    const lowerMs = venueMs - receivedAtMs;
    // Beyond what round trips prove a stamp is broken, or the venue's clock has stepped: one frame does not decide which.
    const mostMs = Math.min(this.#upperMs, this.#ceilingMs());
    if (!(lowerMs <= mostMs)) {
      if (lowerMs > mostMs + APART_MS) this.onDoubt();
      return;
    }
    if (lowerMs < -MAX_UNMEASURED_BEHIND_MS && this.#upperMs === Number.POSITIVE_INFINITY) return;
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

  /** The venue's clock was found to have stepped: all evidence is from before. The estimate stays until there is new one. */
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

  /** The age that a venue stamp has at the very least, by all evidence; 0 without any. After a step: that it may have. */
  provenAgeMs(venueMs: number, nowMs: number): number {
    return Math.max(0, nowMs + this.#floorMs - venueMs);
  }

  /**
   * A stamp of then or later is of a future that no clock's error explains. One rule for all rooms (stamps.ts): such a
   * frame proves nothing, and changes nothing where frames are ordered by their stamps.
   */
  latestMs(nowMs: number): number {
    this.#lookForStep();
    const isMeasured = this.#isStepped || this.#roundTrips.length > 0;
    return nowMs + this.#estimateMs + (isMeasured ? MAX_FUTURE_MS : MAX_UNMEASURED_MS);
  }

  /** Returns false when the stamp is of a future that no clock's error explains. */
  isPlausible(venueMs: number, nowMs: number): boolean {
    if (venueMs < this.latestMs(nowMs)) return true;
    // Or the venue's clock has stepped.
    this.onDoubt();
    return false;
  }

  /** How old a frame is that was held up on its way for longer than `limitMs`, or may be as its stamp is of no time; else 0. */
  lateMs(venueMs: number, nowMs: number, limitMs: number): number {
    if (!this.isPlausible(venueMs, nowMs)) return UNTIMED_MS;
    const ageMs = this.provenAgeMs(venueMs, nowMs);
    if (ageMs <= limitMs) return 0;
    // As if the venue's clock had stepped back.
    this.onDoubt();
    return ageMs;
  }

  #lookForStep(): void {
    const byMs = this.#steps.look();
    if (byMs !== 0) this.#stepped(byMs);
  }

  /** `byMs` below 0: our wall clock was set back. Above: it was set forward, or the machine slept. */
  #stepped(byMs: number): void {
    this.#isStepped = true;
    this.#forgetOffset();
    this.#doubtMs += Math.max(0, byMs);
    const atMostMs = Math.max(0, -byMs);
    this.#estimateMs += atMostMs;
    this.#floorMs += atMostMs;
    this.onDoubt();
  }

  #estimate(nowMs: number): void {
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
    // What round trips disprove is from a broken stamp, or from before a step of the venue's clock.
    if (this.#lowerNowMs > upperMs) this.#lowerNowMs = Number.NEGATIVE_INFINITY;
    if (this.#lowerBeforeMs > upperMs) this.#lowerBeforeMs = Number.NEGATIVE_INFINITY;
    const eventMs = Math.max(this.#lowerNowMs, this.#lowerBeforeMs);
    this.#floorMs = Math.max(lowerMs, eventMs);
    if (upperMs < Number.POSITIVE_INFINITY) {
      this.#estimateMs = (this.#floorMs + upperMs) / 2;
    } else if (eventMs > Number.NEGATIVE_INFINITY) {
      // Without a round trip the fastest event counts as one without delay: ages are relative to it.
      this.#estimateMs = eventMs;
    }
  }
}

/**
 * When "no such order" proves that an order was never placed (ADR 0003): the look-up began after the venue could last
 * accept it, plus the venue's indexing lag.
 *
 * Invariant: no step of our wall clock brings a proof forward. While the process that sent the order lives its monotonic
 * clock counts; the venue's time, from the venue's own stamps, counts always, and alone after a restart.
 *
 * Bounds: MAX_BOUNDS monotonic bounds, the least recently used one goes; the venue's time alone counts for its order then.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../../domain/clock.js";
import type { VenueOrder } from "../../domain/order.js";
import type { VenueRoom } from "../../ports.js";
import type { OrderAttempt } from "../run.js";

/** How long a venue may answer "no such order" about one that it has accepted (seen: up to 1.1 s; doubled). */
export const INDEXING_LAG_MS = 2_000;
/** In place of a bound: the order exists, or the venue has answered for it. */
export const NO_PROOF_OF_ABSENCE = Number.MAX_SAFE_INTEGER;
const MAX_BOUNDS = 4_096;
/** How far a venue's clock may be ahead of ours where nothing was measured. */
const UNMEASURED_CLOCK_MS = 60_000;
/**
 * By how much an order's time may lie before the one at which we wrote it down: venues stamp by several clocks. The
 * order of an earlier use of an idempotency key is a day older.
 */
const AGE_TOLERANCE_MS = 600_000;

/** After both times the venue can no longer accept the order. */
export interface AbsenceBound {
  readonly venueMs: number;
  /** Monotonic; null: another process sent it, or it was forgotten. */
  readonly monoNs: number | null;
}

/** Both clocks at one moment. */
interface Moment {
  readonly monoNs: number;
  readonly venueMs: number | null;
}

/** The monotonic bounds of orders that this process sent, by client id. */
export class SendBounds {
  readonly #monoNs = new LRUCache<string, number>({ max: MAX_BOUNDS });

  set(clientIdHex: string, monoNs: number): void {
    this.#monoNs.set(clientIdHex, monoNs);
  }

  /** Null when nothing proves this order absent. */
  of(attempt: OrderAttempt): AbsenceBound | null {
    if (attempt.notPlacedAfterMs === NO_PROOF_OF_ABSENCE) return null;
    return {
      venueMs: attempt.notPlacedAfterVenueMs ?? attempt.notPlacedAfterMs + UNMEASURED_CLOCK_MS,
      monoNs: this.#monoNs.get(attempt.clientIdHex) ?? null,
    };
  }
}

/** What an attempt knows before it is sent; `notPlacedAfterMs` in our wall time. */
export function boundOf(
  { venueClock }: VenueRoom,
  notPlacedAfterMs: number,
): Pick<OrderAttempt, "notPlacedAfterMs" | "notPlacedAfterVenueMs" | "sentAfterVenueMs"> {
  const venueMs = venueClock.nowAtLeastMs();
  return {
    notPlacedAfterMs,
    notPlacedAfterVenueMs: notPlacedAfterMs + venueClock.offsetMs,
    ...(venueMs === null ? {} : { sentAfterVenueMs: venueMs }),
  };
}

export function momentOf(clock: Clock, room: VenueRoom): Moment {
  return { monoNs: clock.monoNs(), venueMs: room.venueClock.nowAtLeastMs() };
}

/** Does "no such order" from a look-up that began then prove it? */
export function isProvenAbsent(bound: AbsenceBound | null, began: Moment): boolean {
  return bound !== null && proofInMs(bound, began) < 0;
}

/** How long until a look-up can prove the absence; an hour where the venue's time is not known. */
export function proofInMs({ venueMs, monoNs }: AbsenceBound, now: Moment): number {
  const venueLeftMs = now.venueMs === null ? UNKNOWN_TIME_MS : venueMs - now.venueMs;
  const monoLeftMs = monoNs === null ? Number.NEGATIVE_INFINITY : (monoNs - now.monoNs) / 1e6;
  return Math.max(venueLeftMs, monoLeftMs) + INDEXING_LAG_MS;
}

/** Longer than any order is followed. */
const UNKNOWN_TIME_MS = 3_600_000;

/**
 * Is a cancel so young that another id of the order may be in its place, which the venue's index of client ids lacks yet?
 * A time far ahead is no time.
 */
export function isYoungCancel(
  { newIdPerChange }: Pick<OrderAttempt, "newIdPerChange">,
  { status, tsVenueMs }: VenueOrder,
  venueNowMs: number | null,
): boolean {
  if (newIdPerChange !== true || status !== "CANCELED" || venueNowMs === null) return false;
  const ageMs = venueNowMs - tsVenueMs;
  return ageMs < INDEXING_LAG_MS && ageMs > -UNMEASURED_CLOCK_MS;
}

/** What an order found under its client id must agree with. */
export type ExpectedOrder = Pick<OrderAttempt, "side" | "qtyLots" | "sentAfterVenueMs"> &
  Partial<Pick<OrderAttempt, "changedLots" | "newIdPerChange" | "order" | "parts">>;

/** Is the order found the one that was sent, and not another one under the same client id? */
export function isOrderSent(sent: ExpectedOrder, found: VenueOrder): boolean {
  // A venue may leave out size and time.
  const isOfSize = [sent.qtyLots, sent.changedLots, 0].includes(found.qtyLots);
  const isOfAge =
    sent.sentAfterVenueMs === undefined ||
    found.tsVenueMs === 0 ||
    found.tsVenueMs >= sent.sentAfterVenueMs - AGE_TOLERANCE_MS;
  return found.side === sent.side && isOfSize && isOfAge;
}

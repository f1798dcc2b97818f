/** The weather of the simulated world: what each venue refuses, loses, delays and shows wrongly while the storm lasts. */
import type { RejectReason } from "../../domain/order.js";
import type { Random } from "../../domain/random.js";
import { ORDER_VALIDITY_MS, type PlaceFate } from "./fake-matching.js";
import type { FakeVenue } from "./fake-venue.js";

/** Another order of the same client id, as from an earlier use of it: of another size or side, or a day old. */
export function showOtherOrders(venue: FakeVenue, weather: Random, storm: { readonly on: boolean }): void {
  venue.shownOrder = (order) => {
    if (!storm.on || weather.next() > 0.1) return order;
    const other = { ...order, status: "CANCELED", filledLots: 0, averagePrice: null } as const;
    const side = order.side === "BUY" ? "SELL" : "BUY";
    return pick(weather, [
      { ...other, qtyLots: order.qtyLots + 5 },
      { ...other, side },
      { ...other, tsVenueMs: order.tsVenueMs - 86_400_000 },
    ]);
  };
}

/** What becomes of an order in the storm: a draw below the bound, and not below the one before, has that outcome. */
export interface Odds {
  readonly fill: number;
  readonly part: number;
  readonly reject: number;
  /** Somebody else closes the position, or a part of it, first; of an order that does not only reduce: a fill. */
  readonly closedElsewhere: number;
  readonly notSent: number;
  readonly loseRequest: number;
  readonly loseReply: number;
  readonly late: number;
  readonly acknowledged: number;
  readonly working: number;
  /** What is above it is a bug of the room. */
  readonly drop: number;
  readonly reasons: readonly RejectReason[];
}

export const TRADE_ODDS: Odds = {
  fill: 0.36,
  part: 0.46,
  reject: 0.57,
  closedElsewhere: 0.75,
  notSent: 0.77,
  loseRequest: 0.82,
  loseReply: 0.9,
  late: 0.95,
  acknowledged: 0.98,
  working: 0.985,
  drop: 0.99,
  reasons: ["INSUFFICIENT_MARGIN", "PRICE", "VENUE_STATE", "REDUCE_ONLY"],
};

/** Of one venue and accounts that nobody else trades in. */
export const SINGLE_ODDS: Odds = {
  fill: 0.4,
  part: 0.52,
  reject: 0.62,
  closedElsewhere: 0.62,
  notSent: 0.68,
  loseRequest: 0.76,
  loseReply: 0.86,
  late: 0.94,
  acknowledged: 0.99,
  working: 0.99,
  drop: 0.99,
  reasons: ["INSUFFICIENT_MARGIN", "PRICE", "VENUE_STATE"],
};

/** Sets the venue's knobs to draw their faults from the seed while the storm lasts. */
export function disturb(venue: FakeVenue, random: Random, storm: { readonly on: boolean }, odds: Odds): void {
  venue.fate = (command, account): PlaceFate => {
    const latencyMs = 1 + random.next() * 80;
    if (!storm.on) return { kind: "fill", latencyMs };
    const draw = random.next();
    if (draw < odds.fill) return { kind: "fill", latencyMs };
    if (draw < odds.part) return { kind: "fill", latencyMs, liquidity: random.next() };
    if (draw < odds.reject) return { kind: "reject", latencyMs, reason: pick(random, odds.reasons) };
    if (draw < odds.closedElsewhere) {
      if (!command.reduceOnly || command.trigger !== undefined) return { kind: "fill", latencyMs };
      const direction = command.side === "SELL" ? "LONG" : "SHORT";
      const leftLots = Math.floor(venue.heldLots(account, direction) * pick(random, [0, 0, 0, 0.3]));
      venue.setPosition(account, direction, leftLots);
      return { kind: "reject", latencyMs, reason: "REDUCE_ONLY" };
    }
    if (draw < odds.notSent) return { kind: "notSent", reason: pick(random, ["RATE_LIMITED", "VENUE_STATE"]) };
    if (draw < odds.loseRequest) return { kind: "loseRequest" };
    if (draw < odds.loseReply) return { kind: "loseReply", liquidity: random.next() < 0.5 ? 1 : random.next() };
    if (draw < odds.late) return { kind: "late", executeAfterMs: random.next() * ORDER_VALIDITY_MS };
    if (draw < odds.acknowledged) return { kind: "fill", latencyMs, ackOnlyMs: random.next() * 1_500 };
    if (draw < odds.working) return { kind: "fill", latencyMs, ackOnlyMs: 0, workingMs: 90_000 };
    if (draw < odds.drop) return { kind: "drop", latencyMs };
    return { kind: "throw" };
  };
  venue.readLatencyMs = () => 1 + random.next() * 40;
  venue.indexLagMs = () => random.next() * 1_500;
  venue.positionFailure = () =>
    storm.on && random.next() < 0.05 ? pick(random, ["TIMEOUT", "RATE_LIMITED", "HANG"]) : null;
  venue.settingFate = () => (storm.on && random.next() < 0.1 ? pick(random, ["reject", "lose"]) : "accept");
  venue.orderReadFailure = () => (storm.on && random.next() < 0.2 ? "TIMEOUT" : null);
}

export function pick<T>(random: Random, choices: readonly T[]): T {
  const choice = choices[Math.floor(random.next() * choices.length)];
  if (choice === undefined) throw new RangeError("nothing to pick from");
  return choice;
}

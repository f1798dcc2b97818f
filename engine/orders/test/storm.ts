/** The weather of the simulated world: what each venue refuses, loses, delays and shows wrongly while the storm lasts. */
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

/** Sets the venue's knobs to draw their faults from the seed while the storm lasts. */
export function disturb(venue: FakeVenue, random: Random, storm: { readonly on: boolean }): void {
  venue.fate = (command, account): PlaceFate => {
    const latencyMs = 1 + random.next() * 80;
    if (!storm.on) return { kind: "fill", latencyMs };
    const draw = random.next();
    if (draw < 0.36) return { kind: "fill", latencyMs };
    if (draw < 0.46) return { kind: "fill", latencyMs, liquidity: random.next() };
    if (draw < 0.57)
      return {
        kind: "reject",
        latencyMs,
        reason: pick(random, ["INSUFFICIENT_MARGIN", "PRICE", "VENUE_STATE", "REDUCE_ONLY"]),
      };
    if (draw < 0.75 && command.reduceOnly && command.trigger === undefined) {
      // Somebody else closes it, or a part of it, first.
      const direction = command.side === "SELL" ? "LONG" : "SHORT";
      venue.setPosition(
        account,
        direction,
        Math.floor(venue.heldLots(account, direction) * pick(random, [0, 0, 0, 0.3])),
      );
      return { kind: "reject", latencyMs, reason: "REDUCE_ONLY" };
    }
    if (draw < 0.75) return { kind: "fill", latencyMs };
    if (draw < 0.77) return { kind: "notSent", reason: pick(random, ["RATE_LIMITED", "VENUE_STATE"]) };
    if (draw < 0.82) return { kind: "loseRequest" };
    if (draw < 0.9) return { kind: "loseReply", liquidity: random.next() < 0.5 ? 1 : random.next() };
    if (draw < 0.95) return { kind: "late", executeAfterMs: random.next() * ORDER_VALIDITY_MS };
    if (draw < 0.98) return { kind: "fill", latencyMs, ackOnlyMs: random.next() * 1_500 };
    if (draw < 0.985) return { kind: "fill", latencyMs, ackOnlyMs: 0, workingMs: 90_000 };
    if (draw < 0.99) return { kind: "drop", latencyMs };
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

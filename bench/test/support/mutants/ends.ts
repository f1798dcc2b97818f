/** Faults that mistake the ends of orders. */
import type { PlaceOutcome } from "../../../../engine/domain/order.js";
import type { VenueRoom } from "../../../../engine/ports.js";
import { frozen, type Positions, seeing, telling, withoutReason } from "./holdings.js";
import { placing, type Plant, replaced } from "./planting.js";

/** Ignores what a venue reports of an order that found nothing to reduce, and what a read shows then. */
function deafToReduceOnly(room: VenueRoom): VenueRoom {
  const plain = (outcome: PlaceOutcome): PlaceOutcome =>
    outcome.outcome === "rejected" && outcome.reason === "REDUCE_ONLY"
      ? { ...outcome, reason: "VENUE_STATE" }
      : outcome;
  const deaf = placing(
    (place) =>
      async (...order) =>
        plain(await place(...order)),
  );
  return frozen(deaf(seeing(withoutReason)(room)));
}

/** Reads as an account's lost frames would give them: once an order went out, nothing is held. */
function emptyAfterOrders(room: VenueRoom): VenueRoom {
  let wasSent = false;
  const noting = replaced(room, {
    orders: (orders) =>
      replaced(orders, {
        place:
          (place) =>
          (...order) => {
            wasSent = true;
            return place.apply(orders, order);
          },
      }),
  });
  const nothing: Positions = { ok: true, value: [], asOfMs: 0, source: "venue" };
  return telling(noting, async (_name, read) => (wasSent ? { ...nothing, asOfMs: Date.now() } : read()));
}

const SHARED_FOR_MS = 3_000;

/** Shares a read of positions for a while, whatever orders went out since. */
function sharingReads(room: VenueRoom): VenueRoom {
  const shared = new Map<string, { readonly atMs: number; readonly answer: Promise<Positions> }>();
  return telling(room, (name, read) => {
    const before = shared.get(name);
    const nowMs = performance.now();
    if (before !== undefined && nowMs - before.atMs < SHARED_FOR_MS) return before.answer;
    const answer = read();
    shared.set(name, { atMs: nowMs, answer });
    return answer;
  });
}

export const END_PLANTS: readonly Plant[] = [
  {
    name: "an order that found nothing to reduce is one that another venue may fill",
    scene: "reduceOnly",
    checks: ["reduce-only ends", "told positions", "all closed", "flatness", "sizes"],
    seen: /because venuethree had nothing to reduce/,
    wrong: () => ({ room: deafToReduceOnly }),
  },
  {
    name: "the share of a split's leg that found nothing is closed on a third venue",
    scene: "splitGone",
    checks: ["reduce-only ends", "told positions", "all closed", "flatness", "sizes"],
    wrong: () => ({ room: deafToReduceOnly }),
  },
  {
    name: "an order of a close-all that found nobody to trade with is one that found nothing held",
    scene: "thin",
    checks: ["close-all"],
    seen: /reported as CLOSED and holds/,
    wrong: () => ({ room: emptyAfterOrders }),
  },
  {
    name: "a read that is older than an order answers for what came after it",
    scene: "own",
    checks: ["flatness", "told positions", "all closed", "sizes"],
    wrong: () => ({ room: sharingReads }),
  },
];

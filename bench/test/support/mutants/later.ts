/** Faults that miss what comes after the reply: fills of orders that rest, and refusals that would have passed. */
import type { PlaceOutcome, VenueOrder } from "../../../../engine/domain/order.js";
import type { AccountReader, VenueRoom } from "../../../../engine/ports.js";
import { ARRIVAL_BOUND_MS } from "../judge/later.js";
import { seeing } from "./holdings.js";
import type { TradeAnswer, TradeClient } from "../trade-trial.js";
import { placing, type Plant, replaced } from "./planting.js";

type Reply = Awaited<ReturnType<TradeClient["send"]>>;

/** Treats every refusal of a stop as permanent: it is not sent again. */
function refusingForGood(room: VenueRoom): VenueRoom {
  const forGood = (order: VenueOrder): VenueOrder =>
    order.triggerPrice !== null && isRefusal(order) ? { ...order, endReason: "PRICE" } : order;
  const refused = placing((place) => async (session, command, options): Promise<PlaceOutcome> => {
    const outcome = await place(session, command, options);
    const isStop = outcome.outcome === "rejected" && command.trigger !== undefined;
    return isStop ? { ...outcome, reason: "PRICE" } : outcome;
  });
  return refused(seeing(forGood)(room));
}

/** In an answer, or by ending the order after accepting it. */
function isRefusal({ endReason, status }: VenueOrder): boolean {
  return status === "REJECTED" || (status === "CANCELED" && endReason !== undefined);
}

/** Counts a stop that the venue took as open, whatever the venue reports of it afterwards. */
function standingOnceTaken(room: VenueRoom): VenueRoom {
  const standing = ({ endReason: _, ...order }: VenueOrder): VenueOrder => ({ ...order, status: "OPEN" });
  return seeing((order) => (order.triggerPrice !== null && order.filledLots === 0 ? standing(order) : order))(room);
}

/** An entry is acknowledged with nothing filled, and no look at it is answered before its stop is late. */
function lookingLate(room: VenueRoom): VenueRoom {
  let untilMs = Number.POSITIVE_INFINITY;
  const acknowledging = placing((place) => async (session, command, options): Promise<PlaceOutcome> => {
    const outcome = await place(session, command, options);
    if (outcome.outcome !== "accepted" || command.reduceOnly) return outcome;
    untilMs = performance.now() + ARRIVAL_BOUND_MS;
    return { ...outcome, order: { ...outcome.order, status: "OPEN", filledLots: 0, averagePrice: null } };
  });
  return replaced(acknowledging(room), {
    reader: (reader) =>
      replaced<AccountReader>(reader, {
        readOrder: (read) => async (session, instrument, ref, options) =>
          performance.now() < untilMs
            ? { ok: false, code: "VENUE_ERROR", message: "planted", retryAfterMs: null }
            : read.call(reader, session, instrument, ref, options),
        followOrder: () => () => ({ lookAfterMs: 0, stop: () => {} }),
      }),
  });
}

/** A key that is used again gets the first final reply, whatever was sent for its trade since. */
function repeatingFirstEnd(client: TradeClient): TradeClient {
  const firstEnds = new Map<string, Reply>();
  return {
    async send(path, options) {
      const key = String(options?.headers?.["idempotency-key"] ?? "");
      const known = firstEnds.get(key);
      if (known !== undefined) return known;
      const reply = await client.send(path, options);
      const { data } = reply.body as { readonly data?: TradeAnswer["data"] };
      if (key !== "" && data?.execution.final === true) firstEnds.set(key, reply);
      return reply;
    },
  };
}

export const LATER_PLANTS: readonly Plant[] = [
  {
    name: "orders that rest are not followed",
    scene: "reachedClose",
    checks: ["fills recorded"],
    seen: /recorded are none/,
    wrong: () => ({ isUnfollowed: true }),
  },
  {
    name: "a stop that was refused is not sent again",
    scene: "refusedStop",
    checks: ["stops in time"],
    seen: /stops of 0 lots/,
    // Otherwise the account's stream would report its outcome.
    wrong: () => ({ room: refusingForGood, isUnfollowed: true }),
  },
  {
    name: "a stop that its venue took and ended counts as open",
    scene: "endedStop",
    checks: ["protections", "stops in time"],
    seen: /reported as PLACED/,
    wrong: () => ({ room: standingOnceTaken, isUnfollowed: true }),
  },
  {
    name: "a key used again is answered as of its first final reply",
    scene: "refusedStop",
    checks: ["named orders", "ends of orders"],
    seen: /final without \w+ \S+, which was named before/,
    wrong: () => ({ client: repeatingFirstEnd }),
  },
  {
    name: "an entry that filled on arrival is looked at late",
    scene: "limit",
    checks: ["stops on arrival"],
    seen: /stops of 0 lots/,
    // Otherwise the account's stream would report what it filled.
    wrong: () => ({ room: lookingLate, isUnfollowed: true }),
  },
];

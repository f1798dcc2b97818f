/**
 * All open orders of an account, or of one symbol, cancelled: by the venue's own call where its room has it, one by one
 * otherwise. Bounds: MAX_CANCELS orders a call, CANCELS_AT_ONCE under way.
 */
import { logUnsentCall } from "../send/debug-lines.js";
import type { Instrument } from "../../domain/instrument.js";
import type { Logger } from "../../domain/logger.js";
import type { CancelAllOutcome, Refused } from "../../domain/order.js";
import type { AccountSession, CallOptions, VenueRoom } from "../../ports.js";
import { problemOf } from "../background.js";
import { instrumentOf } from "./order-facts.js";

const MAX_CANCELS = 500;
const CANCELS_AT_ONCE = 8;

/** A contract that the room knows and does not follow: its orders can be cancelled all the same. */
function unfollowed(room: VenueRoom, nativeSymbol: string): Instrument | null {
  for (const instrument of room.instruments?.values() ?? [])
    if (instrument.nativeSymbol === nativeSymbol) return instrument;
  return null;
}

/** Never rejects: a fault of ours may come after a cancel went out. */
export async function cancelAllOrders(
  parts: { readonly logger: Logger },
  room: VenueRoom,
  session: AccountSession,
  instrument: Instrument | null,
  options: CallOptions,
): Promise<CancelAllOutcome> {
  try {
    const all = room.orders.cancelAll?.(session, instrument, options);
    const outcome = await (all ?? cancelOneByOne(room, session, instrument, options));
    logUnsentCall(parts, { what: "cancel_all", venue: room.venue, symbol: instrument?.symbol ?? null }, outcome);
    return outcome;
  } catch (error) {
    parts.logger.error("cancel_all_threw", { venue: room.venue, problem: problemOf(error) });
    return { outcome: "unknown", cause: "INTERNAL" };
  }
}

async function cancelOneByOne(
  room: VenueRoom,
  session: AccountSession,
  instrument: Instrument | null,
  options: CallOptions,
): Promise<CancelAllOutcome> {
  const open = await room.reader.readOpenOrders(session, instrument, options);
  if (!open.ok) {
    const reason = open.code === "AUTH" ? "AUTH" : open.code === "RATE_LIMITED" ? "RATE_LIMITED" : "VENUE_STATE";
    return { outcome: "rejected", reason, venueCode: open.code, venueText: "open orders cannot be read", sent: false };
  }
  const orders = open.value.slice(0, MAX_CANCELS);
  let canceledCount = 0;
  let isUnknown = orders.length < open.value.length;
  const failed: Refused[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let order = orders[next++]; order !== undefined; order = orders[next++]) {
      const listed =
        instrument ?? instrumentOf(room.markets, order.nativeSymbol) ?? unfollowed(room, order.nativeSymbol);
      if (listed === null) {
        isUnknown = true;
        continue;
      }
      const outcome = await room.orders.cancel(session, listed, { venueOrderId: order.venueOrderId }, options);
      if (outcome.outcome === "accepted") canceledCount += 1;
      else if (outcome.outcome === "unknown") isUnknown = true;
      // Gone meanwhile: nothing of it is open, which is what was asked for.
      else if (outcome.reason !== "NOT_FOUND") failed.push(outcome);
    }
  };
  await Promise.all(Array.from({ length: CANCELS_AT_ONCE }, work));
  return isUnknown ? { outcome: "unknown", cause: "NOT_ALL" } : { outcome: "accepted", canceledCount, failed };
}

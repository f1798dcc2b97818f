import type { Clock } from "../../domain/clock.js";
import { within, type Deadline } from "../../domain/deadline.js";
import { callOptions, isInstrument, listedInstrument, readRefusal, type OpenedAccount } from "./open-account.js";
import type { OpenOrdersAnswer, OpenOrdersRequest } from "./order-desk.js";
import { factsOfVenueOrder, instrumentOf } from "./order-facts.js";
import { ownTerms, type OwnTermsParts } from "./order-lookup.js";

/** The open orders of an account as its venue lists them, each with what is known of it here. */
export async function openOrders(
  parts: OwnTermsParts & { readonly clock: Clock },
  opened: OpenedAccount,
  request: OpenOrdersRequest,
  deadline: Deadline,
): Promise<OpenOrdersAnswer> {
  const { room, session } = opened;
  const { symbol, venue } = request;
  const listed = symbol === null ? null : listedInstrument(room, symbol);
  if (listed !== null && !isInstrument(listed)) return listed;
  const options = callOptions(deadline, "read");
  const answered = await within(parts.clock, room.reader.readOpenOrders(session, listed, options), options.timeoutMs);
  const read = answered.done ? answered.value : ({ ok: false, code: "TIMEOUT", retryAfterMs: null } as const);
  if (!read.ok) return readRefusal("FAILED_TO_FETCH_ORDERS", venue, read);
  const orders = await Promise.all(
    read.value.flatMap((order) => {
      const instrument = instrumentOf(room.markets, order.nativeSymbol);
      if (instrument === null) return [];
      return [ownTerms(parts, opened, order, null).then((own) => factsOfVenueOrder(instrument, order, own))];
    }),
  );
  return { ok: true, orders, asOfMs: read.asOfMs, source: read.source };
}

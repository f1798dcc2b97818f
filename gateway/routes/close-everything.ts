/**
 * POST /api/trade/close-all: every position on every venue with credentials. Open orders are cancelled first, since they
 * could open what is being closed; each venue answers for itself.
 */
import { ServiceError } from "../../engine/domain/errors.js";
import { ROUTABLE_VENUES } from "../../engine/domain/venue.js";
import type { CloseAllVenue } from "../../engine/orders/single/order-desk.js";
import { isTradingRoom } from "../../engine/ports.js";
import { OPERATIONS } from "../../schemas/operations.js";
import {
  closeEverythingReplySchema,
  closeEverythingRequestSchema,
  type VenueClose,
} from "../../schemas/order-changes.js";
import { compileSerialiser } from "../../schemas/serialise.js";
import { compileValidator } from "../../schemas/validate.js";
import type { CloseItem } from "../../schemas/venue-orders.js";
import { ACCOUNT_HEADERS, callerBlocks } from "../accounts/account-access.js";
import { closeItem } from "../accounts/order-views.js";
import { checkedBody, jsonRoute, replyText } from "../http/json-route.js";
import { checkReduceOnly } from "../spec-fields.js";
import type { Route } from "./context.js";
import { orderContext, refusalError, type TradingContext } from "./order-desk-call.js";

export function closeEverythingRoute(context: TradingContext): Route {
  const { edge, clock, view, trading, closeDefaults } = context;
  const validate = compileValidator(closeEverythingRequestSchema);
  const serialise = compileSerialiser(closeEverythingReplySchema);
  return jsonRoute(context, {
    operation: OPERATIONS.closeEverything,
    headers: ACCOUNT_HEADERS,
    sends: true,
    async answer(ask) {
      const body = checkedBody(validate, ask.body);
      checkReduceOnly(body.reduceOnly);
      const blocks = await callerBlocks(trading.wallets, ask);
      const wanted = body.exchanges ?? null;
      const venues = ROUTABLE_VENUES.filter((venue) => wanted === null || wanted.includes(venue));
      const accounts = venues.flatMap((venue) => {
        const credentials = blocks[venue] ?? null;
        return credentials === null ? [] : [{ venue, credentials }];
      });
      if (accounts.length === 0)
        throw new ServiceError("MISSING_CREDENTIALS", { exchange: wanted === null ? "any venue" : wanted.join(", ") });
      // A venue that was named and cannot be asked must not look closed.
      const lacking = wanted === null ? undefined : wanted.find((venue) => (blocks[venue] ?? null) === null);
      if (lacking !== undefined) throw new ServiceError("MISSING_CREDENTIALS", { exchange: lacking });
      const absent = accounts.find(({ venue }) => {
        const room = view.room(venue);
        return room === null || !isTradingRoom(room);
      });
      if (absent !== undefined)
        throw new ServiceError("VENUE_UNAVAILABLE", { exchange: absent.venue, reason: "NOT_CONFIGURED" });
      const text = body.symbol ?? null;
      const answer = await trading.orders.closeAll(
        {
          accounts,
          symbol: text === null ? null : view.resolve(text),
          cancelFirst: body.cancelOrders ?? true,
          maxSlippageBps: body.maxSlippageBps ?? closeDefaults.maxSlippageBps,
          deadlineMs: closeDefaults.deadlineMs,
        },
        orderContext(ask),
      );
      if (!answer.ok) throw refusalError(answer);
      const closes = answer.venues.map(venueClose);
      const closedCount = closes.reduce((total, one) => total + one.closedCount, 0);
      const totalPositions = closes.reduce((total, one) => total + one.totalPositions, 0);
      const failed = closes.filter((one) => one.state !== "CLOSED" && one.state !== "FLAT");
      const rest = failed.map((one) => `${one.exchange}: ${one.state}`).join(", ");
      const data = {
        success: failed.length === 0,
        closedCount,
        totalPositions,
        venues: closes,
        message: `Closed ${closedCount} of ${totalPositions} positions${rest === "" ? "" : `; ${rest}`}`,
      };
      return {
        text: replyText(edge, serialise, { success: true, data, timestamp: clock.wallMs() }),
        replayed: answer.replayed,
      };
    },
  });
}

function venueClose(venue: CloseAllVenue): VenueClose {
  const results = venue.legs.map(closeItem);
  const error = venue.error ?? venue.cancel?.error ?? null;
  return {
    exchange: venue.venue,
    state: venue.error === null ? stateOf(results) : "ERROR",
    canceledOrders: venue.cancel?.canceledCount ?? null,
    closedCount: results.filter((item) => item.status === "CLOSED").length,
    totalPositions: results.length,
    results,
    error: error === null ? null : { code: error.code, message: new ServiceError(error.code, error.details).message },
  };
}

/** The worst that is known of its positions; unknown outranks what is known to have failed, for it may still happen. */
function stateOf(results: readonly CloseItem[]): VenueClose["state"] {
  if (results.length === 0) return "FLAT";
  const worst = (["UNKNOWN", "FAILED", "PARTIAL"] as const).find((word) =>
    results.some((item) => item.status === word),
  );
  if (worst === undefined) return "CLOSED";
  return worst === "FAILED" && results.some((item) => item.status !== "FAILED") ? "PARTIAL" : worst;
}

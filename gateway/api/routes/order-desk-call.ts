/** What the routes that call the order desk share: the caller's context and the symbol. */
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import type { OrderRequestContext } from "../../../engine/orders/single/order-desk.js";
import type { TradingDesk } from "../../accounts/trading-desk.js";
import { tradingRoom } from "../../accounts/account-access.js";
import type { Ask } from "../../http/json-route.js";
import type { RouteContext } from "./context.js";

/** Routes about accounts exist only where there is a trading desk. */
export interface TradingContext extends RouteContext {
  readonly trading: TradingDesk;
}

export function orderContext(ask: Ask): OrderRequestContext {
  return {
    requestId: ask.requestId,
    idempotencyKey: ask.idempotencyKey,
    ownerId: ask.caller.ownerId,
    payer: ask.caller.keyId,
    rawBody: ask.boundBytes,
    receivedAtMs: ask.receivedAtMs,
  };
}

/**
 * Returns the canonical symbol of the caller's text. Throws VENUE_UNAVAILABLE without the venue, UNKNOWN_SYMBOL if it
 * does not list it.
 */
export function symbolOn({ view }: RouteContext, venue: RoutableVenue, text: string): string {
  tradingRoom(view, venue);
  return view.resolveOn(venue, text);
}

/** Like `symbolOn`, for a symbol that is only a hint. */
export function symbolHint(
  context: RouteContext,
  venue: RoutableVenue,
  text: string | null | undefined,
): string | null {
  return text === null || text === undefined ? null : symbolOn(context, venue, text);
}

/** What the routes that call the order desk share: who asks, with which bounds, and refusals as errors. */
import { type ErrorCode, type ErrorContext, ServiceError } from "../../../engine/domain/errors.js";
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import type { OrderContext, OrderRefusal } from "../../../engine/orders/single/order-desk.js";
import type { TradingDesk } from "../../accounts/trading-desk.js";
import { tradingRoom } from "../../accounts/account-access.js";
import { type Ask, ReplayedRefusal } from "../../http/json-route.js";
import type { RouteContext } from "./context.js";

/** Routes about accounts exist only where there is a trading desk. */
export interface TradingContext extends RouteContext {
  readonly trading: TradingDesk;
}

export function orderContext(ask: Ask): OrderContext {
  return {
    requestId: ask.requestId,
    idempotencyKey: ask.idempotencyKey,
    apiKeyId: null,
    rawBody: ask.boundBytes,
    receivedAtMs: ask.receivedAtMs,
  };
}

/** Canonical symbol of what the caller typed. Throws VENUE_UNAVAILABLE without the venue, UNKNOWN_SYMBOL if it lists none. */
export function symbolOn({ view }: RouteContext, venue: RoutableVenue, text: string): string {
  tradingRoom(view, venue);
  return view.resolveOn(venue, text);
}

/** As `symbolOn` for a symbol that is only a hint. */
export function symbolHint(
  context: RouteContext,
  venue: RoutableVenue,
  text: string | null | undefined,
): string | null {
  return text === null || text === undefined ? null : symbolOn(context, venue, text);
}

/** A refusal of the desk as the error of the reply. */
export function refusalError(refusal: OrderRefusal, venue: RoutableVenue | null = null): ServiceError {
  const { code, context } = errorOf(refusal, venue);
  return refusal.replayed ? new ReplayedRefusal(code, context) : new ServiceError(code, context);
}

/** A key that the venue no longer takes (expired, revoked, another account's) is the caller's to repair: 401, on venuethree 403. */
function errorOf(
  { code, details }: OrderRefusal,
  venue: RoutableVenue | null,
): { readonly code: ErrorCode; readonly context: ErrorContext } {
  // A room whose venue can do no such thing says so by this word, unsent.
  if (details["venueCode"] === "NOT_SUPPORTED" && code !== "NOT_SUPPORTED")
    return { code: "NOT_SUPPORTED", context: { what: details["venueText"], exchange: details["exchange"] } };
  const isAuth = code === "MISSING_CREDENTIALS" || code === "INVALID_API_CREDENTIALS" || isAuthReject(details);
  if (venue === "venuethree" && isAuth) return { code: "INVALID_API_CREDENTIALS", context: details };
  if (isAuth && venue !== null) return { code: "MISSING_CREDENTIALS", context: { exchange: venue, ...details } };
  return { code, context: details };
}

function isAuthReject(details: OrderRefusal["details"]): boolean {
  return details["reason"] === "AUTH";
}

/** Turns a refusal of the order desk into the error of a reply. */
import { type ErrorCode, type ErrorContext, ServiceError } from "../../engine/domain/errors.js";
import type { RoutableVenue } from "../../engine/domain/venue.js";
import type { OrderRefusal } from "../../engine/orders/single/order-desk.js";
import { KEY_VENUE } from "../../schemas/venues.js";
import { ReplayedRefusal } from "../http/json-route.js";

export function refusalError(refusal: OrderRefusal, venue: RoutableVenue | null = null): ServiceError {
  const { code, context } = errorOf(refusal, venue);
  return refusal.replayed ? new ReplayedRefusal(code, context) : new ServiceError(code, context);
}

/** A key that the venue no longer takes (expired, revoked, another account's) is the caller's to repair: 401, or 403 where callers bring their own. */
function errorOf(
  { code, details }: OrderRefusal,
  venue: RoutableVenue | null,
): { readonly code: ErrorCode; readonly context: ErrorContext } {
  // With this code a room reports, without sending, that its venue has no such function.
  if (details["venueCode"] === "NOT_SUPPORTED" && code !== "NOT_SUPPORTED")
    return { code: "NOT_SUPPORTED", context: { what: details["venueText"], exchange: details["exchange"] } };
  const isAuth = code === "MISSING_CREDENTIALS" || code === "INVALID_API_CREDENTIALS" || isAuthReject(details);
  if (venue === KEY_VENUE && isAuth) return { code: "INVALID_API_CREDENTIALS", context: details };
  if (isAuth && venue !== null) return { code: "MISSING_CREDENTIALS", context: { exchange: venue, ...details } };
  return { code, context: details };
}

function isAuthReject(details: OrderRefusal["details"]): boolean {
  return details["reason"] === "AUTH";
}

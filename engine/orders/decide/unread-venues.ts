/**
 * Which venues a close of everything (ALL, or a share of it) could not count: the caller gave credentials for them and
 * their position is not known. What is open there is in no size of the reply.
 */
import { ROUTABLE_VENUES, type RoutableVenue } from "../../domain/venue.js";
import type { AccountReading } from "./readings.js";
import type { BoundQuote, TradeRequest } from "../types.js";
import type { Rooms } from "../accounts.js";

const NONE: readonly RoutableVenue[] = [];

export function unreadVenues(
  rooms: Rooms,
  request: TradeRequest,
  readings: ReadonlyMap<RoutableVenue, AccountReading>,
  quote: BoundQuote | null,
): readonly RoutableVenue[] {
  if (request.open !== null || (request.size !== "ALL" && request.sizePercent === null)) return NONE;
  let unread: RoutableVenue[] | null = null;
  for (const venue of ROUTABLE_VENUES) {
    if ((request.credentials[venue] ?? null) === null || isLeftOut(venue, request, quote)) continue;
    if ((readings.get(venue)?.positions ?? null) !== null) continue;
    // A venue that does not list the symbol holds none of it.
    if (rooms.get(venue)?.markets.has(request.symbol) === false) continue;
    unread ??= [];
    unread.push(venue);
  }
  return unread ?? NONE;
}

/** By the caller's own words: the close is not meant for it. */
function isLeftOut(venue: RoutableVenue, request: TradeRequest, quote: BoundQuote | null): boolean {
  if (request.preferredExchange !== null && request.preferredExchange !== venue) return true;
  return request.excludeExchanges.includes(venue) || quote?.venues.includes(venue) === false;
}

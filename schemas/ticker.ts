/**
 * Tickers (interface spec 2.8 and 4.11): one payload per venue, whose fields are in the venue's own file, and the
 * aggregate keyed by venue. Additions: `state`, `ageMs`, `fundingIntervalHours`, and venues and fields beyond the spec's list.
 */
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { nullable, ROUTABLE_VENUE_WORDS, type RoutableVenueWord, reply, timeMs, words } from "./common.js";
import { price, titleOf } from "./venue-contract.js";
import { CONTRACTS, perVenue } from "./venues.js";

/** In the order of the venues. */
export const TICKER_SCHEMAS: readonly TSchema[] = ROUTABLE_VENUE_WORDS.map((venue) => CONTRACTS[venue].ticker.schema);

/** One venue's failure inside the aggregate; the others still answer. */
export const tickerFailureSchema = reply(
  {
    error: Type.String(),
    code: words(["UNKNOWN_SYMBOL", "NOT_CONFIGURED", "VENUE_UNAVAILABLE", "MISSING_CREDENTIALS"]),
    availableSymbols: Type.Array(Type.String(), { maxItems: 20 }),
  },
  { $id: "TickerFailure" },
);
export type TickerFailure = Static<typeof tickerFailureSchema>;

export const bestTouchSchema = reply({
  bid: price,
  ask: price,
  venueBid: nullable(words(ROUTABLE_VENUE_WORDS)),
  venueAsk: nullable(words(ROUTABLE_VENUE_WORDS)),
});
export type BestTouch = Static<typeof bestTouchSchema>;

function payloadRef(venue: RoutableVenueWord): string {
  return `${CONTRACTS[venue].ticker.schema.$id ?? ""}#`;
}

export const aggregatedTickerReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      ...perVenue((_, venue) => Type.Unsafe({ anyOf: [{ $ref: payloadRef(venue) }, { $ref: "TickerFailure#" }] })),
      best: bestTouchSchema,
    }),
    timestamp: timeMs,
  },
  { $id: "AggregatedTickerReply" },
);

export function venueTickerReply(venue: RoutableVenueWord) {
  return reply(
    { success: Type.Literal(true), data: Type.Unsafe({ $ref: payloadRef(venue) }), timestamp: timeMs },
    { $id: `${titleOf(venue)}TickerReply` },
  );
}

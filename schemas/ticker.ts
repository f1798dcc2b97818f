/**
 * Tickers (interface spec 2.8 and 4.11): one payload per venue, and the aggregate keyed by venue. Spec fields
 * keep their names (`asterSymbol` carries a brand there). Additions: `state`, `ageMs`, `fundingIntervalHours`, what
 * venuethree publishes beyond the spec's list, and venuefour as a whole. A price the venue has not sent yet is null.
 */
import { type Static, Type } from "@sinclair/typebox";
import { decimal, feedState, nullable, ROUTABLE_VENUE_WORDS, reply, timeMs, words } from "./common.js";

const price = nullable(decimal());

const commonFields = {
  symbol: Type.String({ description: "Canonical symbol." }),
  markPrice: price,
  lastPrice: price,
  prevDayPrice: price,
  change24h: nullable(decimal("Percent.")),
  change24hAbs: price,
  volume24h: nullable(decimal("In the quote asset.")),
  timestamp: timeMs,
};

const additions = {
  state: feedState,
  ageMs: nullable(
    Type.Integer({ minimum: 0, description: "Since the venue's last ticker frame; null before the first." }),
  ),
  fundingIntervalHours: nullable(Type.Number()),
};

export const venueoneTickerSchema = reply(
  {
    ...commonFields,
    fundingRate: nullable(decimal("Per funding interval; never compare over venues without fundingIntervalHours.")),
    openInterest: nullable(decimal("Base units.")),
    ...additions,
  },
  { $id: "VenueoneTicker" },
);
export type VenueoneTicker = Static<typeof venueoneTickerSchema>;

export const venuetwoTickerSchema = reply(
  {
    ...commonFields,
    asterSymbol: Type.String({ description: "The venue's own symbol." }),
    indexPrice: price,
    openPrice: price,
    high24h: price,
    low24h: price,
    fundingRate: nullable(decimal("Per funding interval.")),
    nextFundingTime: nullable(timeMs),
    volumeBase: nullable(decimal()),
    ...additions,
  },
  { $id: "VenuetwoTicker" },
);
export type VenuetwoTicker = Static<typeof venuetwoTickerSchema>;

export const venuethreeTickerSchema = reply(
  {
    ...commonFields,
    marketId: Type.Integer(),
    indexPrice: price,
    high24h: price,
    low24h: price,
    note: Type.String({ description: "Says that the mark price is the last trade price." }),
    venueMarkPrice: nullable(decimal("The venue's own mark price, which margin and liquidation go by.")),
    fundingRate: nullable(decimal("Per funding interval.")),
    nextFundingTime: nullable(timeMs),
    openInterest: nullable(decimal("In the quote asset.")),
    ...additions,
  },
  { $id: "VenuethreeTicker" },
);
export type VenuethreeTicker = Static<typeof venuethreeTickerSchema>;

export const venuefourTickerSchema = reply(
  {
    ...commonFields,
    prevDayPrice: nullable(decimal("The oracle price 24 h ago.")),
    change24h: nullable(decimal("Percent, of indexPrice against prevDayPrice.")),
    change24hAbs: nullable(decimal("indexPrice less prevDayPrice.")),
    indexPrice: price,
    fundingRate: nullable(decimal("Per funding interval.")),
    nextFundingTime: nullable(timeMs),
    openInterest: nullable(decimal("As the venue prints it; its documents do not agree on the unit.")),
    ...additions,
  },
  { $id: "VenuefourTicker" },
);
export type VenuefourTicker = Static<typeof venuefourTickerSchema>;

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

function payloadOrFailure(payload: string) {
  return { anyOf: [{ $ref: `${payload}#` }, { $ref: "TickerFailure#" }] };
}

export const aggregatedTickerReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      venueone: Type.Unsafe<VenueoneTicker | TickerFailure>(payloadOrFailure("VenueoneTicker")),
      venuetwo: Type.Unsafe<VenuetwoTicker | TickerFailure>(payloadOrFailure("VenuetwoTicker")),
      venuethree: Type.Unsafe<VenuethreeTicker | TickerFailure>(payloadOrFailure("VenuethreeTicker")),
      venuefour: Type.Unsafe<VenuefourTicker | TickerFailure>(payloadOrFailure("VenuefourTicker")),
      best: bestTouchSchema,
    }),
    timestamp: timeMs,
  },
  { $id: "AggregatedTickerReply" },
);

function venueTickerReply<T>(payload: string, $id: string) {
  return reply(
    { success: Type.Literal(true), data: Type.Unsafe<T>({ $ref: `${payload}#` }), timestamp: timeMs },
    { $id },
  );
}

export const venueoneTickerReplySchema = venueTickerReply<VenueoneTicker>("VenueoneTicker", "VenueoneTickerReply");
export const venuetwoTickerReplySchema = venueTickerReply<VenuetwoTicker>("VenuetwoTicker", "VenuetwoTickerReply");
export const venuethreeTickerReplySchema = venueTickerReply<VenuethreeTicker>(
  "VenuethreeTicker",
  "VenuethreeTickerReply",
);
export const venuefourTickerReplySchema = venueTickerReply<VenuefourTicker>("VenuefourTicker", "VenuefourTickerReply");

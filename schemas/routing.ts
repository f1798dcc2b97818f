/**
 * How a trade was, or would be, routed: the report of candidates and the public dry run
 * (routing design sections 1, 3 and 5).
 */
import { type Static, Type } from "@sinclair/typebox";
import {
  bookState,
  decimal,
  nullable,
  positiveDecimal,
  reply,
  routableVenue,
  side,
  timeMs,
  VENUE_WORDS,
  words,
} from "./common.js";

/** Why a venue is not eligible; the first that applies. */
export const REASON_CODES = [
  "NO_CREDENTIALS",
  "NOT_PREFERRED",
  "CLIENT_SIDE_ONLY",
  "SYMBOL_NOT_LISTED",
  "NO_POSITION",
  "DIRECTION_MISMATCH",
  "OPPOSITE_POSITION",
  "LEVERAGE_NOT_SUPPORTED",
  "LEVERAGE_NOT_SET",
  "SIZE_EXCEEDS_POSITION",
  "VENUE_UNHEALTHY",
  "BOOK_INVALID",
  "BOOK_STALE",
  "DEPTH_INSUFFICIENT",
  "SLIPPAGE_CAP",
  "BELOW_MIN_SIZE",
  "ABOVE_MAX_SIZE",
  "INSUFFICIENT_MARGIN",
  "PRICE_OUT_OF_RANGE",
  "RATE_BUDGET",
] as const;

export const DECISION_REASONS = [
  "PREFERRED_EXCHANGE",
  "ONLY_ELIGIBLE_VENUE",
  "BEST_ALL_IN_PRICE",
  "TIE_LOWEST_LATENCY",
  "TIE_LARGER_POSITION",
  "BEST_SPLIT",
] as const;

const venue = words(VENUE_WORDS);

const routingBookSchema = reply({
  state: bookState,
  ageMs: nullable(
    Type.Integer({ description: "Since the last frame, heartbeat or probe that proved the book current." }),
  ),
  depthAgeMs: Type.Optional(Type.Integer({ description: "Age of the deeper tier, where the size needed it." })),
  venueSeq: nullable(Type.String()),
  source: words(["ws", "rest"]),
});

export const candidateSchema = reply({
  exchange: venue,
  eligible: Type.Boolean(),
  reasonCode: Type.Optional(words(REASON_CODES, { description: "Only on venues that are not eligible." })),
  problem: Type.Optional(Type.String({ description: "What is wrong with the credentials given for it." })),
  positionSize: nullable(decimal("null where no position was read.")),
  selected: Type.Optional(Type.Boolean()),
  rank: Type.Optional(Type.Integer({ minimum: 1 })),
  routedSize: Type.Optional(decimal()),
  topOfBook: Type.Optional(nullable(decimal())),
  vwap: Type.Optional(nullable(decimal())),
  worstLevel: Type.Optional(nullable(decimal())),
  levelsUsed: Type.Optional(Type.Integer({ minimum: 0 })),
  depthWithinCap: Type.Optional(decimal()),
  marketableSize: Type.Optional(decimal("LIMIT only: the part that would fill at once.")),
  feeBps: Type.Optional(decimal()),
  makerFeeBps: Type.Optional(decimal()),
  feeSource: Type.Optional(words(["account", "config", "venueDefault"])),
  latencyMsP90: Type.Optional(Type.Number()),
  latencyPenaltyBps: Type.Optional(decimal()),
  allInPrice: Type.Optional(decimal()),
  slippageBps: Type.Optional(nullable(decimal())),
  costBps: Type.Optional(nullable(decimal())),
  quoteAsset: Type.Optional(Type.String()),
  quoteRate: Type.Optional(decimal()),
  quoteRateSource: Type.Optional(words(["assumed", "config"])),
  exitPrice: Type.Optional(decimal("Entries only: VWAP of the way out; with the taker fee it is part of costBps.")),
  fundingRateHourly: Type.Optional(decimal("Entries only: what a long pays per hour.")),
  nextFundingTime: Type.Optional(nullable(timeMs)),
  fundingBps: Type.Optional(decimal("Entries with expectedHoldHours: what a long pays over them; part of costBps.")),
  book: Type.Optional(routingBookSchema),
});

const alternativeSchema = reply({ price: nullable(decimal()), available: Type.Boolean() });

export const routingReportSchema = reply({
  routeId: Type.String(),
  mode: words(["BEST_EXIT", "BEST_ENTRY"]),
  decidedAt: timeMs,
  forced: Type.Boolean({ description: "The caller named the venue." }),
  split: Type.Boolean(),
  recommended: nullable(routableVenue),
  reason: nullable(words(DECISION_REASONS)),
  price: nullable(decimal("VWAP of the recommended venue, before fees.")),
  savings: decimal("All-in difference to the runner-up times the size."),
  savingsPercent: decimal(),
  reference: nullable(reply({ mid: decimal(), exchange: routableVenue, quoteAsset: Type.String() })),
  limits: reply({
    maxSlippageBps: Type.Number(),
    maxQuoteAgeMs: Type.Integer(),
    worstPrice: nullable(
      decimal(
        "What no order goes beyond: the chosen venue's bound; of a split the loosest leg's, in the common quote.",
      ),
    ),
  }),
  candidates: Type.Array(candidateSchema),
  alternatives: Type.Unsafe<Partial<Record<Static<typeof venue>, Static<typeof alternativeSchema>>>>({
    type: "object",
    description: "Every venue with a live book; `available` says whether it was eligible.",
    additionalProperties: alternativeSchema,
  }),
});

export const quoteSchema = reply({
  quoteId: Type.String(),
  expiresAt: timeMs,
  side,
  size: decimal(),
  expectedPrice: decimal(),
  worstPrice: decimal("What a call with the quote is held to; of a LIMIT or a stop its own bound."),
  expectedCostBps: decimal(),
  binding: words(["WORST_PRICE"]),
});

/** Bounds of the routing options; the defaults are configuration. */
export const SLIPPAGE_BPS_BOUNDS = { min: 1, max: 1000 } as const;
export const QUOTE_AGE_MS_BOUNDS = { min: 50, max: 60_000 } as const;

/** Bounds and default of a quote's lifetime. */
const QUOTE_TTL_MS_BOUNDS = { min: 1_000, max: 30_000, default: 2_000 } as const;

export const maxSlippageBps = Type.Integer({ minimum: SLIPPAGE_BPS_BOUNDS.min, maximum: SLIPPAGE_BPS_BOUNDS.max });
export const maxQuoteAgeMs = Type.Integer({ minimum: QUOTE_AGE_MS_BOUNDS.min, maximum: QUOTE_AGE_MS_BOUNDS.max });

export const quoteTtlMs = Type.Integer({
  minimum: QUOTE_TTL_MS_BOUNDS.min,
  maximum: QUOTE_TTL_MS_BOUNDS.max,
  default: QUOTE_TTL_MS_BOUNDS.default,
  description: "Dry runs: how long the quote lives.",
});

/** Query of the public dry run. */
export const routingQuerySchema = Type.Object({
  side,
  size: positiveDecimal({ description: "Base units.", examples: ["0.25"] }),
  maxSlippageBps: Type.Optional(maxSlippageBps),
  maxQuoteAgeMs: Type.Optional(maxQuoteAgeMs),
  quoteTtlMs: Type.Optional(quoteTtlMs),
  preferredExchange: Type.Optional(routableVenue),
  refusals: Type.Optional(
    words(["status", "body"], {
      description:
        "How the reply reports that no venue takes this: with the error's status, or (body) with 200 and the same envelope, success false. A browser logs every other status as an error of the page.",
    }),
  ),
});

export const routingReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({ routing: routingReportSchema, quote: quoteSchema }),
    timestamp: timeMs,
  },
  { $id: "RoutingReply" },
);

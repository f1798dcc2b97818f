/**
 * `POST /api/trade/position/close`, the reply it shares with `POST /api/trade/position/open`, and `GET /api/trade/executions/{routeId}`: interface spec 2.2, 2.3 and 4.7
 * with the additions of the routing design (sections 2, 3 and 5).
 */
import { type Static, Type } from "@sinclair/typebox";
import {
  decimal,
  direction,
  leverageWarning,
  nullable,
  optionalField,
  orderStatus,
  orderType,
  percentText,
  positiveDecimal,
  reply,
  routableVenue,
  side,
  sizeText,
  symbolText,
  timeMs,
  VENUE_WORDS,
  words,
} from "./common.js";
import { maxQuoteAgeMs, maxSlippageBps, quoteSchema, quoteTtlMs, routingReportSchema } from "./routing.js";
import { callerNames, closingFlag, impliedTimeInForce } from "./spec-names.js";
import { perVenue, type VenueContracts } from "./venues.js";

export const DEADLINE_MS_BOUNDS = { min: 250, max: 30_000 } as const;
export const MAX_CLIENT_ORDER_ID_CHARS = 64;
/** Spec 2.3. Read, used and discarded; never stored, logged or echoed. */
export const credentialsSchema = Type.Object(
  perVenue(({ credentials }) => optionalField(credentials.block)) as {
    -readonly [Venue in keyof VenueContracts]: ReturnType<
      typeof optionalField<VenueContracts[Venue]["credentials"]["block"]>
    >;
  },
  { description: "Only venues named here can be traded on. Used for this request only, never stored." },
);

export const MAX_QUOTE_ID_CHARS = 64;

/** What a close and an open take alike. */
export const tradeFields = {
  limitPrice: optionalField(positiveDecimal()),
  preferredExchange: optionalField(words(VENUE_WORDS), {
    description: "Forces the venue. venuefive is refused: its orders are signed by the client.",
  }),
  credentials: credentialsSchema,
  ...callerNames,
  ...impliedTimeInForce,
  clientOrderId: optionalField(
    Type.String({
      minLength: 1,
      maxLength: MAX_CLIENT_ORDER_ID_CHARS,
      pattern: "^[\\x21-\\x7e]+$",
      "x-kind": "visibleAscii",
    }),
    { description: "Echoed in the reply; what the venue saw is venueClientOrderId." },
  ),
  dryRun: optionalField(Type.Boolean(), { default: false }),
  quoteId: optionalField(Type.String({ minLength: 1, maxLength: MAX_QUOTE_ID_CHARS }), {
    description:
      "Of a dry run: binds its worst price, venues and largest size; of it and maxSlippageBps the tighter holds (without maxSlippageBps the quote's own). " +
      "A LIMIT or STOP_LIMIT may not have a worse limit than the quoted one (400); a STOP_MARKET takes the tighter bound. " +
      "Used once, by a call that sends an order; a retry with the same Idempotency-Key is the same use. " +
      "409 QUOTE_EXPIRED with details.reason EXPIRED, USED or PRICE_MOVED; 409 QUOTE_UNKNOWN for one that this process never gave to these accounts.",
  }),
  quoteTtlMs: optionalField(quoteTtlMs, { description: "Dry runs only: how long the quote lives." }),
  routingOptions: optionalField(
    Type.Object({
      maxSlippageBps: optionalField(maxSlippageBps),
      maxQuoteAgeMs: optionalField(maxQuoteAgeMs),
      deadlineMs: optionalField(Type.Integer({ minimum: DEADLINE_MS_BOUNDS.min, maximum: DEADLINE_MS_BOUNDS.max })),
      allowSplit: optionalField(Type.Boolean(), {
        description: "May a MARKET order go to several venues at once, where that costs less or none takes it alone?",
      }),
      maxLegs: optionalField(Type.Integer({ minimum: 1, maximum: 3 })),
      excludeExchanges: optionalField(Type.Array(words(VENUE_WORDS), { maxItems: VENUE_WORDS.length })),
      waitFor: optionalField(words(["ACK", "FILL"])),
    }),
  ),
};

export const tradeSymbol = symbolText({
  description: "BTC, BTC-PERP, BTC-USD, BTCUSDT, BTC/USDT; any case.",
  examples: ["BTC"],
});

const { limitPrice, ...otherTradeFields } = tradeFields;

export const closeRequestSchema = Type.Object(
  {
    symbol: tradeSymbol,
    direction,
    size: optionalField(sizeText(), {
      description: "Base units, or ALL. Exactly one of size and sizePercent.",
      examples: ["0.25"],
    }),
    sizePercent: optionalField(percentText(), { description: "Percent of the open size: above 0, at most 100." }),
    orderType: optionalField(orderType, { description: "MARKET, or LIMIT when limitPrice is given." }),
    limitPrice,
    triggerPrice: optionalField(positiveDecimal(), {
      description: "Required with STOP_MARKET and STOP_LIMIT, as is preferredExchange; not with others.",
    }),
    ...otherTradeFields,
    ...closingFlag,
  },
  { $id: "CloseRequest" },
);
export type CloseRequestBody = Static<typeof closeRequestSchema>;

export const normalizedOrderSchema = reply({
  orderId: Type.String(),
  symbol: Type.String(),
  side,
  type: orderType,
  status: orderStatus,
  price: decimal("The limit, or the bound of a market order; 0 where the order carries none at its venue."),
  quantity: decimal(),
  filledQuantity: decimal(),
  averagePrice: nullable(decimal("Of what has filled; null while nothing has, or where the venue does not tell it.")),
  timestamp: timeMs,
  exchange: routableVenue,
  clientOrderId: nullable(Type.String(), {
    description: "What the caller sent; null where nothing was sent, or for an order that is not of this service.",
  }),
  venueClientOrderId: nullable(Type.String(), {
    description: "The client id that the venue has; null where the order has none.",
  }),
  reduceOnly: Type.Boolean(),
  triggerPrice: nullable(decimal("Of stops and take-profits; null for every other order.")),
  triggerKind: optionalField(words(["STOP", "TAKE_PROFIT"]), {
    description: "Of an order with a triggerPrice: the type alone says STOP_… of both kinds.",
  }),
});

const executionLegSchema = reply({
  leg: Type.Integer({ minimum: 0 }),
  attempt: Type.Integer({ minimum: 1 }),
  exchange: routableVenue,
  venueClientOrderId: Type.String(),
  orderId: nullable(Type.String()),
  size: decimal(),
  worstPrice: nullable(decimal(), {
    description: "The bound that this order carried; null for a stop whose venue takes no price with it.",
  }),
  filledSize: decimal(),
  averagePrice: nullable(decimal("Of what has filled; null while nothing has, or where the venue does not tell it.")),
  status: orderStatus,
  outcome: words(["CONFIRMED", "REJECTED", "UNKNOWN", "NOT_SENT"]),
  reason: nullable(Type.String()),
  venueText: nullable(Type.String()),
  sentAt: nullable(timeMs),
  ackAt: nullable(timeMs),
});

const protectionOrderSchema = reply({
  kind: words(["TAKE_PROFIT", "STOP_LOSS", "CLOSE"], {
    description: "CLOSE: the way back where protection failed (closeOnProtectionFailure).",
  }),
  exchange: routableVenue,
  venueClientOrderId: Type.String(),
  orderId: nullable(Type.String()),
  triggerPrice: nullable(decimal("null for CLOSE, which has no trigger.")),
  price: decimal("The limit, or the bound of a market order; 0 where the order carries none at its venue."),
  size: decimal(),
  filledSize: decimal(),
  status: orderStatus,
  outcome: words(["CONFIRMED", "REJECTED", "UNKNOWN", "NOT_SENT"]),
  reason: nullable(Type.String()),
  venueText: nullable(Type.String()),
});

export const executionReportSchema = reply({
  state: words(["COMPLETED", "PARTIAL", "RESTING", "SUBMITTED", "UNKNOWN", "REJECTED", "NOOP", "SIMULATED"]),
  final: Type.Boolean({ description: "false: the outcome may still change; ask GET /api/trade/executions/{routeId}." }),
  mode: words(["LIVE", "DRY_RUN"]),
  algo: nullable(words(["IOC", "GTC", "STOP"])),
  note: nullable(Type.String()),
  requestedSize: decimal(),
  submittedSize: decimal(),
  filledSize: decimal(),
  remainingSize: nullable(decimal("null where it is not known: see unreadExchanges.")),
  unreadExchanges: Type.Optional(
    Type.Array(routableVenue, {
      description:
        "ALL and sizePercent: venues with credentials whose position could not be read. What is open there is in no size; the state is never COMPLETED or NOOP.",
    }),
  ),
  averagePrice: nullable(decimal("Of what has filled; null while nothing has, or where the venue does not tell it.")),
  notional: nullable(decimal()),
  fees: Type.Array(reply({ amount: decimal(), asset: Type.String(), source: words(["venue", "computed"]) })),
  realizedSlippageBps: nullable(decimal()),
  vsQuoteBps: nullable(decimal()),
  adjustments: Type.Array(
    reply({
      field: words(["price", "size", "leverage", "marginMode"]),
      from: Type.String({ description: 'Decimal text; a margin mode; "unknown" where the venue did not say.' }),
      to: Type.String(),
      rule: Type.String(),
    }),
  ),
  legs: Type.Array(executionLegSchema),
  protection: Type.Optional(
    nullable(words(["PLACED", "PARTIAL", "FAILED", "UNKNOWN", "NOT_PLACED"]), {
      description: "Opens only: what became of takeProfit and stopLoss; null where none was asked for.",
    }),
  ),
  protectionReason: Type.Optional(
    nullable(Type.String(), {
      description:
        "Why it is not PLACED, or how the part that may still fill is protected: WATCHED (protected as it fills), NOT_WATCHED (too many entries are), WATCH_ENDED (after a day, or at a shutdown), WATCH_LOST (the service was restarted); OUTCOME_UNKNOWN, NOTHING_FILLED, POSITION_CLOSED (its owner closed it before a refused order was sent again), CANCELED (an order of it was canceled without the venue's reason), the venue's reason. UNKNOWN is also the state of an order that its venue has taken and not shown yet. A refusal that may pass (RATE_LIMITED, VENUE_STATE, PRICE_BAND, NOT_PLACED, STORE_UNAVAILABLE) or a later end for such a reason is sent again after the reply, up to 12 times with 1 to 15 seconds between, and the execution shows the newest try; one that would be repeated (a trigger that is crossed, a position that is gone, a size, a key) is sent once. UNDO_ and BOOK_STALE, BOOK_INVALID, SLIPPAGE_CAP or NO_PRICE: closeOnProtectionFailure found no price for the undo until the deadline, nothing was sent for it, and the position stays open.",
    }),
  ),
  protectionOrders: Type.Optional(Type.Array(protectionOrderSchema)),
  timingMs: reply({
    total: Type.Number(),
    positions: Type.Number(),
    routing: Type.Number(),
    sign: Type.Number(),
    venue: Type.Number(),
    other: Type.Optional(Type.Number({ description: "Keys, the durable write, waits. All parts add up to total." })),
  }),
  statusPath: nullable(Type.String()),
});

const positionAfterSchema = reply({
  exchange: routableVenue,
  symbol: Type.String(),
  direction,
  size: decimal(),
  entryPrice: nullable(decimal()),
  asOf: timeMs,
  source: words(["stream", "venue", "computed"]),
});

export const closeDataSchema = reply({
  executedOn: nullable(routableVenue),
  order: nullable(normalizedOrderSchema),
  routing: routingReportSchema,
  execution: executionReportSchema,
  position: nullable(positionAfterSchema),
  quote: Type.Optional(quoteSchema),
  warning: leverageWarning,
});

export const closeReplySchema = reply(
  { success: Type.Literal(true), data: closeDataSchema, timestamp: timeMs },
  { $id: "CloseReply" },
);

/**
 * A second form of status 200, of closes and openings: every order was refused, and it is known that nothing was executed.
 * The envelope of an error, with what was tried as `data`.
 */
export const tradeRefusedReplySchema = reply(
  {
    success: Type.Literal(false),
    error: Type.String({ description: "Failed to place order. What the venues said is in data.execution.legs." }),
    code: words(["VENUE_REJECTED"]),
    requestId: Type.String({ description: "Also the X-Request-Id header." }),
    data: closeDataSchema,
    timestamp: timeMs,
  },
  { $id: "TradeRefusedReply" },
);

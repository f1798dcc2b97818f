/**
 * `GET /api/history/…`: what was recorded of ticks, trades, candles, routing decisions and fills, page by page, and
 * the post-trade report over fills and decisions.
 *
 * Every row of a page has `timestamp`: the time by which `from`, `to` and `order` count. A row has the same fields in
 * all three forms (JSON, CSV, JSON lines).
 */
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import {
  askedTime,
  decimal,
  direction,
  nullable,
  reply,
  routableVenue,
  ROUTABLE_VENUE_WORDS,
  side,
  symbolText,
  timeMs,
  words,
} from "./common.js";

/** Rows of a JSON page. */
export const HISTORY_PAGE = { max: 1000, default: 100 } as const;
/** 2100-01-01: a later time in a query is a mistake of units. */
const MAX_TIME_MS = 4_102_444_800_000;

export const CANDLE_INTERVALS = { "1m": 60, "5m": 300, "15m": 900, "1h": 3600, "4h": 14_400, "1d": 86_400 } as const;
export type CandleInterval = keyof typeof CANDLE_INTERVALS;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Largest range of a query; range when `from` is absent; rows that an export (CSV, JSON lines) reads at a time, which
 * is also its largest `limit`.
 */
export const HISTORY_BOUNDS = {
  ticks: { rangeMsMax: DAY_MS, rangeMsDefault: HOUR_MS, exportRowsMax: 50_000 },
  trades: { rangeMsMax: 7 * DAY_MS, rangeMsDefault: HOUR_MS, exportRowsMax: 50_000 },
  /** Of one-minute candles; longer intervals in proportion, up to `rangeMsCap`. */
  candles: { rangeMsMax: 31 * DAY_MS, rangeMsDefault: 100 * 60_000, exportRowsMax: 50_000 },
  routing: { rangeMsMax: 92 * DAY_MS, rangeMsDefault: 7 * DAY_MS, exportRowsMax: 5000 },
  fills: { rangeMsMax: 366 * DAY_MS, rangeMsDefault: 7 * DAY_MS, exportRowsMax: 50_000 },
  executionQuality: { rangeMsMax: 92 * DAY_MS, rangeMsDefault: DAY_MS, exportRowsMax: 5000 },
} as const;
export const CANDLE_RANGE_MS_CAP = 3660 * DAY_MS;
export type HistoryKind = keyof typeof HISTORY_BOUNDS;

const symbol = symbolText({ description: "BTC, BTC-PERP, BTC-USD, BTCUSDT, BTC/USDT; any case.", examples: ["BTC"] });
const idText = (description: string) =>
  Type.Optional(
    Type.String({ minLength: 1, maxLength: 128, pattern: "^[\\x21-\\x7e]+$", "x-kind": "visibleAscii", description }),
  );

function rangeNote(kind: HistoryKind): string {
  const { rangeMsDefault, rangeMsMax } = HISTORY_BOUNDS[kind];
  return `Unix ms or ISO 8601, inclusive. Default: \`to\` less ${rangeMsDefault} ms; at most ${rangeMsMax} ms before \`to\`.`;
}

function rangeFields(kind: HistoryKind) {
  return {
    exchange: Type.Optional(words(ROUTABLE_VENUE_WORDS, { description: "One venue; all when neither is given." })),
    exchanges: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 64,
        description: "Several venues, comma-separated; not beside `exchange`.",
      }),
    ),
    from: Type.Optional(askedTime({ minimum: 0, maximum: MAX_TIME_MS }, rangeNote(kind))),
    to: Type.Optional(askedTime({ minimum: 1, maximum: MAX_TIME_MS }, "Unix ms or ISO 8601, exclusive. Default: now.")),
  };
}

function pageFields(kind: HistoryKind) {
  return {
    ...rangeFields(kind),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: HISTORY_BOUNDS[kind].exportRowsMax,
        description: `JSON: 1 to ${HISTORY_PAGE.max}, default ${HISTORY_PAGE.default}. CSV and JSON lines: the whole range without it; with it a page of 1 to ${HISTORY_BOUNDS[kind].exportRowsMax} rows, whose end X-Next-Cursor names.`,
      }),
    ),
    order: Type.Optional(words(["asc", "desc"], { description: "By timestamp.", default: "desc" })),
    cursor: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 2048,
        description:
          "`nextCursor` of the page before (X-Next-Cursor of an export with a limit). It carries the whole query; parameters beside it are not needed and must not differ. Rows that arrive between pages neither move nor repeat others.",
      }),
    ),
  };
}

export const ticksQuerySchema = Type.Object({ symbol: Type.Optional(symbol), ...pageFields("ticks") });
export const tradesQuerySchema = Type.Object({
  symbol: Type.Optional(symbol),
  ...pageFields("trades"),
  side: Type.Optional(words(["BUY", "SELL"], { description: "Of the taker." })),
});
export const candlesQuerySchema = Type.Object({
  symbol: Type.Optional(symbol),
  ...pageFields("candles"),
  interval: Type.Optional(
    words(Object.keys(CANDLE_INTERVALS) as CandleInterval[], {
      description: "Default 1m; longer ones are merged from it.",
    }),
  ),
});
export const routingHistoryQuerySchema = Type.Object({
  symbol: Type.Optional(symbol),
  ...pageFields("routing"),
  direction: Type.Optional(direction),
  routeId: idText("One close."),
  requestId: idText("X-Request-Id of the reply."),
  kind: Type.Optional(words(["replied", "refused", "replayed", "resolved"])),
});
export const fillsQuerySchema = Type.Object({
  symbol: Type.Optional(symbol),
  ...pageFields("fills"),
  side: Type.Optional(side),
  direction: Type.Optional(direction),
  routeId: idText("One close."),
  orderId: idText("The venue's order id."),
});
export const executionQualityQuerySchema = Type.Object({
  symbol: Type.Optional(symbol),
  ...rangeFields("executionQuality"),
  direction: Type.Optional(direction),
});

const venueTimestamp = nullable(timeMs, { description: "The venue's time; null where it gave none." });

export const tickRowSchema = reply({
  symbol: Type.String(),
  exchange: routableVenue,
  timestamp: timeMs,
  receivedAtUs: Type.String({ description: "When it reached us, Unix µs." }),
  venueTimestamp,
  bid: nullable(decimal(), { description: "null: the side was empty." }),
  bidSize: decimal(),
  ask: nullable(decimal()),
  askSize: decimal(),
  markPrice: nullable(decimal()),
  lastPrice: nullable(decimal()),
  venueSeq: nullable(Type.String(), { description: "Exact digits; null where the venue has no sequence." }),
  source: Type.String({ description: "What brought it: book, touch or ticker." }),
});

export const tradeRowSchema = reply({
  symbol: Type.String(),
  exchange: routableVenue,
  timestamp: Type.Integer({ minimum: 0, description: "The venue's time of the trade, Unix ms." }),
  receivedAtUs: Type.String({ description: "When it first or last reached us, Unix µs." }),
  tradeId: Type.String(),
  price: decimal(),
  size: decimal(),
  takerSide: side,
});

export const candleRowSchema = reply({
  symbol: Type.String(),
  exchange: routableVenue,
  interval: words(Object.keys(CANDLE_INTERVALS) as CandleInterval[]),
  timestamp: Type.Integer({
    minimum: 0,
    description: "When the candle opened, Unix ms; intervals begin at multiples of their length, UTC.",
  }),
  open: decimal(),
  high: decimal(),
  low: decimal(),
  close: decimal(),
  volume: decimal("Base units."),
  trades: Type.Integer({ minimum: 1 }),
  closed: Type.Boolean({ description: "false: its interval is not over." }),
});

const routingHistoryCandidateSchema = reply({
  exchange: Type.String(),
  status: Type.String({ description: "selected, eligible or ineligible." }),
  reason: nullable(Type.String()),
  allInPrice: nullable(decimal()),
  vwap: nullable(decimal()),
  feeBps: nullable(decimal()),
  slippageBps: nullable(decimal()),
  costBps: nullable(decimal()),
  depthWithinCap: nullable(decimal()),
  bookAgeUs: nullable(Type.String()),
  venueSeq: nullable(Type.String()),
});

const stageUs = nullable(Type.Integer({ minimum: 0 }), { description: "µs; null where the stage did not happen." });
const maybeDecimal = nullable(decimal());
const maybeText = nullable(Type.String());

export const routingHistoryRowSchema = reply({
  symbol: Type.String(),
  timestamp: timeMs,
  decisionId: Type.String(),
  requestId: maybeText,
  routeId: nullable(Type.String(), { description: "null where it was refused before a decision." }),
  kind: Type.String({ description: "replied, refused, replayed or resolved." }),
  direction: maybeText,
  dryRun: Type.Boolean(),
  error: nullable(Type.String(), { description: "Code of a refusal." }),
  orderType: maybeText,
  requestedSize: maybeDecimal,
  limitPrice: maybeDecimal,
  preferredExchange: maybeText,
  maxSlippageBps: maybeDecimal,
  recommended: maybeText,
  reason: maybeText,
  expectedPrice: maybeDecimal,
  worstPrice: maybeDecimal,
  referenceMid: maybeDecimal,
  referenceExchange: maybeText,
  savings: maybeDecimal,
  candidates: Type.Array(routingHistoryCandidateSchema),
  executedOn: maybeText,
  state: maybeText,
  orderId: maybeText,
  submittedSize: maybeDecimal,
  filledSize: maybeDecimal,
  averagePrice: maybeDecimal,
  notional: maybeDecimal,
  slippageBps: maybeDecimal,
  vsQuoteBps: maybeDecimal,
  totalUs: stageUs,
  positionsUs: stageUs,
  decideUs: stageUs,
  signUs: stageUs,
  venueUs: stageUs,
  detail: nullable(Type.String(), { description: "What has no field of its own, as JSON text." }),
  intent: nullable(Type.String(), { description: "OPEN or CLOSE; null where it was not recorded." }),
});

export const fillRowSchema = reply({
  symbol: Type.String(),
  exchange: routableVenue,
  timestamp: Type.Integer({ minimum: 0, description: "When its close was decided, Unix ms." }),
  venueTimestamp,
  receivedAtUs: Type.String({ description: "When this state of it was recorded, Unix µs." }),
  orderId: Type.String({ description: "The venue's order id." }),
  orderKey: Type.String({ description: "Our client id." }),
  routeId: maybeText,
  requestId: maybeText,
  account: nullable(Type.String(), { description: "Keyed hash of the account, never an address." }),
  direction: maybeText,
  side,
  orderType: maybeText,
  price: nullable(decimal(), { description: "Average fill price; null while the venue has not said it." }),
  size: decimal(),
  orderedSize: decimal(),
  fee: nullable(decimal(), { description: "null while not known; negative is a rebate." }),
  feeAsset: maybeText,
  feeSource: nullable(Type.String(), { description: "venue or computed." }),
  maker: Type.Boolean(),
  realizedPnl: maybeDecimal,
  quotedPrice: nullable(decimal(), { description: "Expected when the close was decided, before fees." }),
  worstPrice: nullable(decimal(), { description: "The limit that was sent." }),
  referenceMid: nullable(decimal(), {
    description:
      "Reference mid of the decision; of an order that followed an entry its own: its trigger, or the mid at its send.",
  }),
  intent: Type.String({ description: "OPEN or CLOSE, of the order itself: what follows an entry closes." }),
});

/** `{success, data: {<name>: rows, from, to, nextCursor}, timestamp}`. */
function pageReply<const N extends string, S extends TSchema>(name: N, row: S, $id: string) {
  const rows = { [name]: Type.Array(row) } as { [K in N]: ReturnType<typeof Type.Array<S>> };
  return reply(
    {
      success: Type.Literal(true),
      data: reply({
        ...rows,
        from: timeMs,
        to: timeMs,
        nextCursor: nullable(Type.String(), { description: "null: nothing more in this range." }),
      }),
      timestamp: timeMs,
    },
    { $id },
  );
}

export const ticksReplySchema = pageReply("ticks", tickRowSchema, "HistoryTicksReply");
export const tradesReplySchema = pageReply("trades", tradeRowSchema, "HistoryTradesReply");
export const candlesReplySchema = pageReply("candles", candleRowSchema, "HistoryCandlesReply");
export const routingHistoryReplySchema = pageReply("decisions", routingHistoryRowSchema, "HistoryRoutingReply");
export const fillsReplySchema = pageReply("fills", fillRowSchema, "HistoryFillsReply");

/** Assets of fees that count as the quote currency, one for one, where fees are compared with a notional. */
export const FEE_ASSETS_AT_PAR = ["USD", "USDC", "USDT", "USDT0", "USDE", "USDF", "USD1", "USDH"] as const;

const bps = (description: string) => nullable(decimal(), { description: `${description} Four decimals.` });
const milliseconds = (description: string) => nullable(Type.Number({ minimum: 0 }), { description });
const tally = (description: string) => Type.Integer({ minimum: 0, description });

/**
 * Signs: positive is worse than the yardstick, negative better (a SELL below it and a BUY above it are worse). Means
 * are money lost against the yardstick over the money at the yardstick's price, so large fills weigh more;
 * percentiles count each fill once, linear between neighbours, p95 being the bad end.
 */
const qualityFields = {
  fills: tally("Orders that filled, wholly or in part, decided in the range."),
  notional: decimal("Σ price × size of the fills, exact."),
  quotedFills: tally("Fills with a quoted price."),
  quotedMeanBps: bps(
    "Fill price against the price quoted at the decision, before fees: Σ(±(price − quoted) × size) / Σ(quoted × size).",
  ),
  quotedP50Bps: bps("Median of ±(price − quoted) / quoted."),
  quotedP95Bps: bps("95th percentile of the same."),
  arrivalFills: tally("Fills whose decision had a reference mid."),
  arrivalMeanBps: bps("Fill price against the reference mid of the decision (arrival price): the effective cost."),
  arrivalP50Bps: bps("Median of the same."),
  arrivalP95Bps: bps("95th percentile of the same."),
  guardFills: tally("Fills sent with a worst price."),
  guardMeanBps: bps("Fill price against the worst price that was sent: negative is the room left below the guard."),
  guardMaxBps: bps("The worst of them; above 0 the venue filled beyond the limit."),
  feeFills: tally(`Fills whose fee is known and in one of ${FEE_ASSETS_AT_PAR.join(", ")}.`),
  feeBps: bps("Σ fee / Σ notional of those; negative is a rebate."),
  closes: tally("Closes sent to a venue (no dry runs, refusals or no-ops) decided in the range."),
  fillRatio: nullable(decimal(), {
    description:
      "Σ(filled × reference) / Σ(submitted × reference) over closes whose outcome is known and which did not rest; the reference is the mid, else the expected, else the worst price of the decision. Four decimals.",
  }),
  restingCloses: tally("Closes that rested at their reply, or rest now: what they have not filled was not missed."),
  restingFillRatio: nullable(decimal(), {
    description: "The same ratio over those of known outcome, as far as it is known.",
  }),
  unknownCloses: tally("Closes whose reply said UNKNOWN."),
  unresolvedCloses: tally("Those still unknown."),
  unknownRate: nullable(decimal(), { description: "unknownCloses / closes. Six decimals." }),
  totalMsP50: milliseconds("Close received to reply, ms."),
  totalMsP95: milliseconds("95th percentile of the same."),
  venueMsP50: milliseconds("Order sent to the venue's answer, ms."),
  venueMsP95: milliseconds("95th percentile of the same."),
};

/** @testonly The fields that a query has to bring. */
export const qualityRowSchema = reply({
  scope: words(["total", "exchange", "symbol"]),
  exchange: nullable(Type.String(), { description: "null except in scope exchange." }),
  symbol: nullable(Type.String(), { description: "null except in scope symbol." }),
  ...qualityFields,
});

export const executionQualityReplySchema = reply(
  {
    success: Type.Literal(true),
    data: reply({
      from: timeMs,
      to: timeMs,
      total: reply(qualityFields),
      byExchange: Type.Array(reply({ exchange: Type.String(), ...qualityFields })),
      bySymbol: Type.Array(reply({ symbol: Type.String(), ...qualityFields })),
    }),
    timestamp: timeMs,
  },
  { $id: "ExecutionQualityReply" },
);
export type ExecutionQualityReply = Static<typeof executionQualityReplySchema>;

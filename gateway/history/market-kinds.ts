/** Records of the market: ticks, trades and candles. */
import {
  COMMON_FILTERS,
  EXCHANGE,
  maybeMsOf,
  MS_TO_DATETIME64,
  msOf,
  plain,
  type RecordKind,
  SYMBOL,
  text,
  US_TO_DATETIME64,
  usOf,
} from "./record-kind.js";

const milli = (value: string): readonly [number, number] => [Number(value), Number(value) + 1];
/** Ticks have no id: this distinguishes those of one microsecond and sequence, unless they are equal in everything. */
const TICK_REST = `cityHash64(t.ex, t.bid_px, t.bid_sz, t.ask_px, t.ask_sz, ${["mark_px", "last_px"]
  .map((column) => `isNull(t.${column}), ifNull(t.${column}, 0)`)
  .join(", ")}, t.src)`;

const VENUE_SORT = { sql: "t.venue", text: "toString(t.venue)", value: "$" } as const;

export const TICKS: RecordKind = {
  kind: "ticks",
  source: () => "ticks AS t",
  whereInside: false,
  ownerSql: null,
  time: { sql: "t.rx", value: MS_TO_DATETIME64 },
  fields: [
    SYMBOL,
    EXCHANGE,
    plain("timestamp", msOf("t.rx")),
    plain("receivedAtUs", usOf("t.rx")),
    plain("venueTimestamp", maybeMsOf("t.ex")),
    // Price and size 0 mean an empty side.
    plain("bid", "if(t.bid_sz = 0, NULL, t.bid_px)"),
    plain("bidSize", "t.bid_sz"),
    plain("ask", "if(t.ask_sz = 0, NULL, t.ask_px)"),
    plain("askSize", "t.ask_sz"),
    plain("markPrice", "t.mark_px"),
    plain("lastPrice", "t.last_px"),
    plain("venueSeq", "nullIf(toString(t.seq), '0')"),
    plain("source", "toString(t.src)"),
  ],
  sort: [
    { sql: "t.rx", text: usOf("t.rx"), value: US_TO_DATETIME64.replace("$", "toInt64($)") },
    VENUE_SORT,
    { sql: "t.seq", text: "toString(t.seq)", value: "toUInt64($)" },
    { sql: TICK_REST, text: `toString(${TICK_REST})`, value: "toUInt64($)" },
  ],
  sortTimeMs: (value) => milli(value.length > 3 ? value.slice(0, -3) : "0"),
  exchangeSql: "t.venue",
  filters: COMMON_FILTERS,
};

export const TRADES: RecordKind = {
  kind: "trades",
  // FINAL: a trade delivered again after a reconnect counts once.
  source: () => "trades AS t FINAL",
  whereInside: false,
  ownerSql: null,
  time: { sql: "t.ex", value: MS_TO_DATETIME64 },
  fields: [
    SYMBOL,
    EXCHANGE,
    plain("timestamp", msOf("t.ex")),
    plain("receivedAtUs", usOf("t.rx")),
    text("tradeId", "t.trade_id"),
    plain("price", "t.price"),
    plain("size", "t.qty"),
    plain("takerSide", "toString(t.taker_side)"),
  ],
  sort: [
    {
      sql: "t.ex",
      text: "toString(toUnixTimestamp64Milli(t.ex))",
      value: MS_TO_DATETIME64.replace("$", "toInt64($)"),
    },
    VENUE_SORT,
    { sql: "t.trade_id", text: "t.trade_id", value: "$" },
  ],
  sortTimeMs: milli,
  exchangeSql: "t.venue",
  filters: { ...COMMON_FILTERS, side: "t.taker_side = {side:String}" },
};

/**
 * Merged from the states of one minute. `from` and `to` are multiples of the step here, so a candle includes all its
 * minutes or is not shown.
 */
export const CANDLES: RecordKind = {
  kind: "candles",
  source: (where) =>
    "(SELECT t.symbol AS symbol, t.venue AS venue, intDiv(toUnixTimestamp(t.m), {step:UInt32}) * {step:UInt32} AS start," +
    // Rows of schema version 1 have their first and last price in columns of their own, and come before all others.
    " if(argMinMerge(t.o) = 0, argMinMerge(t.open), toDecimal128(argMinMerge(t.o), 18)) AS open," +
    " max(t.high) AS high, min(t.low) AS low," +
    " if(argMaxMerge(t.close) = 0, toDecimal128(argMaxMerge(t.c), 18), argMaxMerge(t.close)) AS close," +
    ` sum(t.v) AS volume, sum(t.n) AS trades FROM ohlcv_1m AS t WHERE ${where}` +
    " GROUP BY t.symbol, t.venue, start) AS t",
  whereInside: true,
  ownerSql: null,
  time: { sql: "t.m", value: "toDateTime(intDiv($, 1000), 'UTC')" },
  fields: [
    SYMBOL,
    EXCHANGE,
    plain("interval", "{interval:String}"),
    plain("timestamp", "toFloat64(t.start) * 1000"),
    plain("open", "t.open"),
    plain("high", "t.high"),
    plain("low", "t.low"),
    plain("close", "t.close"),
    plain("volume", "t.volume"),
    plain("trades", "toFloat64(t.trades)"),
    plain("closed", "toBool((toInt64(t.start) + {step:UInt32}) * 1000 <= {now:Int64})"),
  ],
  sort: [{ sql: "t.start", text: "toString(t.start)", value: "toUInt64($)" }, VENUE_SORT],
  // All minutes of the candle; otherwise it would be shown without some of them.
  sortTimeMs: (value, stepSeconds) => [Number(value) * 1000, (Number(value) + stepSeconds) * 1000],
  exchangeSql: "t.venue",
  filters: COMMON_FILTERS,
};

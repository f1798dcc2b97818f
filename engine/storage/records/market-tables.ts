/** Tables of public market data, as data: ticks, book snapshots, trades, candles. See schema.ts. */
import { count, EX, narrowPrice, price, qty, RX, SIDE, SYMBOL, text, VENUE, word } from "./columns.js";
import type { DerivedTable, RecordTable } from "./record-table.js";

/** Best bid and ask at each change, with mark and last price where the venue publishes them. */
export const TICKS: RecordTable = {
  name: "ticks",
  columns: [
    RX,
    EX,
    VENUE,
    SYMBOL,
    // Price and size 0: the side is empty.
    narrowPrice("bid", 12),
    qty("bid_sz"),
    narrowPrice("ask", 12),
    qty("ask_sz"),
    { name: "mark", type: "Nullable(Decimal(18, 10))", codec: "ZSTD(1)", writtenUntil: 12 },
    { name: "last", type: "Nullable(Decimal(18, 10))", codec: "ZSTD(1)", writtenUntil: 12 },
    /** The venue's sequence; 0 where it has none. */
    count("seq"),
    /** What caused the row: book, touch, ticker. */
    word("src"),
    price("bid_px", "bid"),
    price("ask_px", "ask"),
    { name: "mark_px", type: "Nullable(Decimal(38, 18))", codec: "ZSTD(1)", otherwise: "mark" },
    { name: "last_px", type: "Nullable(Decimal(38, 18))", codec: "ZSTD(1)", otherwise: "last" },
  ],
  engine: { kind: "MergeTree" },
  orderBy: ["symbol", "venue", "rx", "seq"],
  partitionBy: "toYYYYMMDD(rx)",
  ttl: { column: "rx", days: 30 },
  fsync: false,
  shardingKey: "cityHash64(symbol, venue)",
};

/** The whole depth at intervals; one row holds all levels, so that no merge can mix two moments. */
export const BOOK_SNAPSHOTS: RecordTable = {
  name: "book_snapshots",
  columns: [
    RX,
    EX,
    VENUE,
    SYMBOL,
    count("seq"),
    { name: "bid_px", type: "Array(Decimal(18, 10))", codec: "ZSTD(3)", writtenUntil: 10 },
    { name: "bid_sz", type: "Array(Decimal(38, 8))", codec: "ZSTD(3)" },
    { name: "ask_px", type: "Array(Decimal(18, 10))", codec: "ZSTD(3)", writtenUntil: 10 },
    { name: "ask_sz", type: "Array(Decimal(38, 8))", codec: "ZSTD(3)" },
    /** Values: periodic, gap, pre-route. */
    word("reason"),
    { name: "bid_prices", type: "Array(Decimal(38, 18))", codec: "ZSTD(3)", otherwise: "bid_px" },
    { name: "ask_prices", type: "Array(Decimal(38, 18))", codec: "ZSTD(3)", otherwise: "ask_px" },
  ],
  engine: { kind: "MergeTree" },
  orderBy: ["symbol", "venue", "rx"],
  partitionBy: "toYYYYMMDD(rx)",
  ttl: { column: "rx", days: 7 },
  fsync: false,
  shardingKey: "cityHash64(symbol, venue)",
};

/**
 * Public trades. Venues send trades again after a reconnect. Replacing collapses them at a merge, but a view over the
 * table has counted each insert by then. So the recorder inserts no trade that is already known, from this run or in
 * the store (recorder/earlier-trades.ts).
 */
export const TRADES: RecordTable = {
  name: "trades",
  columns: [
    RX,
    EX,
    VENUE,
    SYMBOL,
    text("trade_id"),
    narrowPrice("px", 9),
    qty("qty"),
    { name: "taker_side", type: SIDE },
    /** Our order of arrival, growing within one run: it breaks ties of `ex` where a candle opens or closes. */
    count("seq"),
    price("price", "px"),
  ],
  engine: { kind: "ReplacingMergeTree", version: "rx" },
  orderBy: ["symbol", "venue", "ex", "trade_id"],
  partitionBy: "toYYYYMMDD(ex)",
  ttl: { column: "ex", days: 90 },
  fsync: false,
  shardingKey: "cityHash64(symbol, venue)",
};

/**
 * One-minute candles as mergeable states; longer ones are merged from these. The view counts each inserted trade. This
 * is right only because the recorder inserts each trade id once and retries carry the batch's token, which this table
 * honours by a window of its own. Read with minMerge/maxMerge/sumMerge forms and GROUP BY.
 *
 * Rows until schema version 2 have their first and last price in `o` and `c` alone, an aggregate state that cannot be
 * converted to the wider type; they are older than any row that has `open` and `close`.
 */
export const OHLCV_1M: DerivedTable = {
  name: "ohlcv_1m",
  columns: [
    SYMBOL,
    VENUE,
    { name: "m", type: "DateTime('UTC')", codec: "Delta, ZSTD(1)" },
    { name: "o", type: "AggregateFunction(argMin, Decimal(18, 10), Tuple(DateTime64(3, 'UTC'), UInt64))" },
    { name: "h", type: "SimpleAggregateFunction(max, Decimal(18, 10))" },
    { name: "l", type: "SimpleAggregateFunction(min, Decimal(18, 10))" },
    { name: "c", type: "AggregateFunction(argMax, Decimal(18, 10), Tuple(DateTime64(3, 'UTC'), UInt64))" },
    { name: "v", type: "SimpleAggregateFunction(sum, Decimal(38, 8))" },
    { name: "n", type: "SimpleAggregateFunction(sum, UInt64)" },
    { name: "open", type: "AggregateFunction(argMin, Decimal(38, 18), Tuple(DateTime64(3, 'UTC'), UInt64))" },
    { name: "high", type: "SimpleAggregateFunction(max, Decimal(38, 18))", otherwise: "h" },
    { name: "low", type: "SimpleAggregateFunction(min, Decimal(38, 18))", otherwise: "l" },
    { name: "close", type: "AggregateFunction(argMax, Decimal(38, 18), Tuple(DateTime64(3, 'UTC'), UInt64))" },
  ],
  engine: { kind: "AggregatingMergeTree" },
  orderBy: ["symbol", "venue", "m"],
  partitionBy: "toYYYYMM(m)",
  ttl: null,
  fsync: false,
  shardingKey: "cityHash64(symbol, venue)",
  view: {
    name: "ohlcv_1m_view",
    source: "trades",
    select: [
      "symbol",
      "venue",
      "toStartOfMinute(ex) AS m",
      "sum(qty) AS v",
      "count() AS n",
      "argMinState(price, (ex, seq)) AS open",
      "max(price) AS high",
      "min(price) AS low",
      "argMaxState(price, (ex, seq)) AS close",
    ],
    groupBy: ["symbol", "venue", "m"],
  },
};

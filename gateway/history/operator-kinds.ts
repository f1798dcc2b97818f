/** Records of this service's own actions: routing decisions and fills. They name accounts by keyed hash only. */
import {
  COMMON_FILTERS,
  EXCHANGE,
  maybeMsOf,
  maybeText,
  MS_TO_DATETIME64,
  msOf,
  plain,
  type RecordField,
  type RecordKind,
  SYMBOL,
  text,
  usOf,
} from "./record-kind.js";

const milli = (value: string): readonly [number, number] => [Number(value), Number(value) + 1];
const AT_SORT = {
  sql: "t.at",
  text: "toString(toUnixTimestamp64Milli(t.at))",
  value: MS_TO_DATETIME64.replace("$", "toInt64($)"),
} as const;

/** A run of characters as long as a key is never shown, whoever wrote it: texts of venues may be in here. */
const scrubbed = (sql: string): string => `replaceRegexpAll(${sql}, '[0-9A-Za-z]{64,}', '[redacted]')`;
const word = (name: string, column: string): RecordField => text(name, maybeText(`t.${column}`));
const number = (name: string, column: string): RecordField => plain(name, `t.${column}`);

const CANDIDATE_FIELDS = [
  ["exchange", "String", "c_venue"],
  ["status", "String", "c_status"],
  ["reason", "Nullable(String)", "c_reason"],
  ["allInPrice", "Nullable(Decimal(38, 18))", "c_all_in_px"],
  ["vwap", "Nullable(Decimal(38, 18))", "c_vwap"],
  ["feeBps", "Nullable(Decimal(38, 18))", "c_fee_bps"],
  ["slippageBps", "Nullable(Decimal(38, 18))", "c_slippage_bps"],
  ["costBps", "Nullable(Decimal(38, 18))", "c_cost_bps"],
  ["depthWithinCap", "Nullable(Decimal(38, 18))", "c_depth"],
  ["bookAgeUs", "Nullable(String)", "c_book_age_us"],
  ["venueSeq", "Nullable(String)", "c_book_seq"],
] as const;

/** The parallel arrays as one array of named tuples, which JSON prints as objects. */
function candidates(): string {
  const names = CANDIDATE_FIELDS.map((_, index) => `x${index}`);
  const values = CANDIDATE_FIELDS.map(([name], index) => {
    if (name === "reason") return `nullIf(x${index}, '')`;
    return name === "bookAgeUs" || name === "venueSeq" ? `toString(x${index})` : `x${index}`;
  });
  const type = CANDIDATE_FIELDS.map(([name, sqlType]) => `${name} ${sqlType}`).join(", ");
  // Rows written elsewhere may have arrays of unequal length; every entry of the first is shown.
  const arrays = CANDIDATE_FIELDS.map(([, , column]) => `arrayResize(t.${column}, length(t.c_venue))`);
  return `arrayMap((${names.join(", ")}) -> CAST((${values.join(", ")}), 'Tuple(${type})'), ${arrays.join(", ")})`;
}

export const ROUTING: RecordKind = {
  kind: "routing",
  source: () => "routing_decisions AS t",
  whereInside: false,
  ownerSql: "t.owner",
  time: { sql: "t.at", value: MS_TO_DATETIME64 },
  fields: [
    SYMBOL,
    plain("timestamp", msOf("t.at")),
    text("decisionId", "t.decision_id"),
    word("requestId", "request_id"),
    word("routeId", "route_id"),
    text("kind", "toString(t.kind)"),
    word("direction", "direction"),
    plain("dryRun", "toBool(t.dry_run)"),
    word("error", "err"),
    word("orderType", "order_type"),
    number("requestedSize", "requested_sz"),
    number("limitPrice", "limit_px"),
    word("preferredExchange", "preferred"),
    number("maxSlippageBps", "max_slippage_bps"),
    word("recommended", "recommended"),
    word("reason", "reason"),
    number("expectedPrice", "expected_px"),
    number("worstPrice", "worst_px"),
    number("referenceMid", "ref_mid"),
    word("referenceExchange", "ref_venue"),
    number("savings", "savings"),
    { name: "candidates", sql: candidates(), cell: "json" },
    word("executedOn", "executed_on"),
    word("state", "state"),
    word("orderId", "order_id"),
    number("submittedSize", "submitted_sz"),
    number("filledSize", "filled_sz"),
    number("averagePrice", "avg_px"),
    number("notional", "notional"),
    number("slippageBps", "slippage_bps"),
    number("vsQuoteBps", "vs_quote_bps"),
    number("totalUs", "total_us"),
    number("positionsUs", "positions_us"),
    number("decideUs", "decide_us"),
    number("signUs", "sign_us"),
    number("venueUs", "venue_us"),
    text("detail", scrubbed(maybeText("t.detail"))),
    word("intent", "intent"),
  ],
  sort: [AT_SORT, { sql: "t.decision_id", text: "t.decision_id", value: "$" }],
  sortTimeMs: milli,
  exchangeSql: "if(t.executed_on != '', t.executed_on, t.recommended)",
  filters: {
    ...COMMON_FILTERS,
    direction: "t.direction = {direction:String}",
    routeId: "t.route_id = {routeId:String}",
    requestId: "t.request_id = {requestId:String}",
    kind: "t.kind = {kind:String}",
  },
};

export const FILLS: RecordKind = {
  kind: "fills",
  // FINAL: the last version of each fill (its fee may be learned later). Neither time nor id changes between versions.
  source: () => "fills AS t FINAL",
  whereInside: false,
  ownerSql: "t.owner",
  time: { sql: "t.at", value: MS_TO_DATETIME64 },
  fields: [
    SYMBOL,
    EXCHANGE,
    plain("timestamp", msOf("t.at")),
    plain("venueTimestamp", maybeMsOf("t.ex")),
    plain("receivedAtUs", usOf("t.rx")),
    text("orderId", "t.fill_id"),
    text("orderKey", "t.order_key"),
    word("routeId", "route_id"),
    word("requestId", "request_id"),
    word("account", "wallet_id"),
    word("direction", "direction"),
    plain("side", "toString(t.side)"),
    word("orderType", "order_type"),
    number("price", "price"),
    number("size", "qty"),
    number("orderedSize", "ordered_qty"),
    number("fee", "fee"),
    word("feeAsset", "fee_asset"),
    word("feeSource", "fee_source"),
    plain("maker", "toBool(t.maker)"),
    number("realizedPnl", "realized_pnl"),
    number("quotedPrice", "quoted_px"),
    number("worstPrice", "worst_px"),
    number("referenceMid", "ref_mid"),
    plain("intent", "toString(t.intent)"),
  ],
  sort: [
    AT_SORT,
    { sql: "t.venue", text: "toString(t.venue)", value: "$" },
    { sql: "t.symbol", text: "toString(t.symbol)", value: "$" },
    { sql: "t.fill_id", text: "t.fill_id", value: "$" },
  ],
  sortTimeMs: milli,
  exchangeSql: "t.venue",
  filters: {
    ...COMMON_FILTERS,
    side: "t.side = {side:String}",
    direction: "t.direction = {direction:String}",
    routeId: "t.route_id = {routeId:String}",
    orderId: "t.fill_id = {orderId:String}",
  },
};

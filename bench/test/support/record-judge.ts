/**
 * Judges the record by the venues' own order logs. Every order of ours that filled is one fill row with the venue's
 * figures. Every close that executed is one final decision row. Every order's last event is its state at the venue.
 * Candles are judged by the trades in the record, each id once.
 *
 * Invariant: the service's own counters play no part. The rows are read from the store after the service has ended, and
 * compared with the venues'.
 */
import { compareDecimals } from "../../../engine/domain/decimal.js";
import type { RecordRow, RecordsStore } from "../../../engine/storage/records/records-store.js";
import type { SimRequestRecord } from "../../sim/core/server/request-log.js";
import type { CloseTrial } from "./close-judge.js";
import { accountOf, type LocalPair, PAIR_VENUES, type PairVenue, type Trader } from "./local-pair.js";

/** Each check can be taken out, to show that its fault goes unseen without it. */
export const RECORD_CHECKS = [
  "fill once",
  "fill there",
  "fill figures",
  "fill price",
  "fill intent",
  "events",
  "decisions",
  "keys",
  "candles",
] as const;
export type RecordCheck = (typeof RECORD_CHECKS)[number];

const BOUNDS = { timeoutMs: 30_000, rowsMax: 200_000, bytesMax: 256 * 1024 * 1024 };

export type TextRow = Readonly<Record<string, string>>;

export interface StoredRecords {
  readonly fills: readonly TextRow[];
  /** Fills as the engine shows them without the versions it has replaced. */
  readonly fillsFinal: number;
  /** Events by order and version. */
  readonly orderEvents: readonly TextRow[];
  /** The latest state of each order, from the view. */
  readonly ordersLatest: readonly TextRow[];
  readonly decisions: readonly TextRow[];
  /** Minutes as the candles have them, and as the trades give them, each id counted once. */
  readonly candles: readonly TextRow[];
  readonly tradedMinutes: readonly TextRow[];
}

export async function readRecords(store: RecordsStore): Promise<StoredRecords> {
  return {
    fills: await rowsOf(
      store,
      "SELECT venue, symbol, fill_id, order_key, route_id, direction, side, price AS px, qty, ordered_qty, ver, intent FROM fills",
    ),
    fillsFinal: Number((await rowsOf(store, "SELECT count() AS n FROM fills FINAL"))[0]?.["n"]),
    orderEvents: await rowsOf(
      store,
      "SELECT venue, symbol, order_key, ver, route_id, order_id, client_order_id, side, status, outcome, qty, filled " +
        "FROM order_events ORDER BY route_id, order_key, ver",
    ),
    ordersLatest: await rowsOf(store, "SELECT order_key, ver, status, filled FROM orders_latest FINAL"),
    decisions: await rowsOf(
      store,
      "SELECT decision_id, route_id, kind, dry_run, err, state, executed_on, order_id, filled_sz FROM routing_decisions",
    ),
    candles: await rowsOf(
      store,
      "SELECT venue, symbol, toString(m) AS minute, toString(sum(n)) AS trades, toString(sum(v)) AS volume," +
        " toString(max(high)) AS top, toString(min(low)) AS bottom FROM ohlcv_1m GROUP BY venue, symbol, m",
    ),
    tradedMinutes: await rowsOf(
      store,
      "SELECT venue, symbol, toString(toStartOfMinute(ex)) AS minute, toString(count()) AS trades," +
        " toString(sum(qty)) AS volume, toString(max(price)) AS top, toString(min(price)) AS bottom" +
        " FROM trades FINAL GROUP BY venue, symbol, minute",
    ),
  };
}

/** Returns the count of rows in the table; where rows replace each other, of all remaining versions. */
export async function countRows(store: RecordsStore, table: string): Promise<number> {
  return Number((await rowsOf(store, `SELECT count() AS n FROM ${table}`))[0]?.["n"]);
}

async function rowsOf(store: RecordsStore, sql: string): Promise<TextRow[]> {
  const result = await store.query(sql, {}, BOUNDS);
  if (!result.ok) throw new Error(`${sql}: ${result.reason} ${result.text}`);
  return result.rows.map(textRow);
}

function textRow(row: RecordRow): TextRow {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value === null ? "" : String(value)]));
}

export interface RecordJudgement {
  readonly violations: readonly string[];
  /** Orders in the venues' logs, and those among them that filled. */
  readonly orders: number;
  readonly filledOrders: number;
  readonly routes: number;
  /** Rows beyond the first of anything that must be there once. */
  readonly duplicates: number;
}

interface VenueOrder {
  readonly venue: PairVenue;
  readonly symbol: string;
  readonly record: SimRequestRecord;
}

export function judgeRecords(
  pair: LocalPair,
  traders: readonly Trader[],
  trials: readonly CloseTrial[],
  stored: StoredRecords,
  without: readonly RecordCheck[] = [],
): RecordJudgement {
  const found: string[] = [];
  const does = (check: RecordCheck): boolean => !without.includes(check);
  const orders = ordersInLogs(pair, traders);
  const last = lastVersions(stored.fills);
  const byClientId = new Map(orders.map((order) => [`${order.venue} ${order.record.clientId ?? ""}`, order]));
  const duplicates = [
    // A fill whose price is found later is recorded again with a later version.
    ...(does("fill once")
      ? [
          ...repeated("fill", stored.fills, (row) => `${row["venue"]} ${row["fill_id"]} ${row["ver"]}`),
          ...repeated("fill of order", last, (row) => row["order_key"] ?? ""),
        ]
      : []),
    ...(does("events") ? repeated("event", stored.orderEvents, (row) => `${orderName(row)} ${row["ver"]}`) : []),
    // A caller who repeats the request id may repeat a refusal; these all have requests of their own.
    ...(does("decisions") ? repeated("decision", stored.decisions, (row) => row["decision_id"] ?? "") : []),
  ];
  found.push(...duplicates);
  if (does("fill once") && stored.fillsFinal !== last.length)
    found.push(`${last.length} fills, ${stored.fillsFinal} of them last versions`);
  found.push(...fillProblems(pair, orders, last, does));
  if (does("events")) found.push(...eventProblems(byClientId, stored));
  const routes = routesOf(byClientId, stored.orderEvents);
  if (does("decisions")) found.push(...decisionProblems(routes, stored.decisions));
  if (does("keys")) found.push(...trialProblems(byClientId, routes, trials));
  if (does("candles")) found.push(...candleProblems(stored));
  return {
    violations: found,
    orders: orders.length,
    filledOrders: orders.filter(isFilled).length,
    routes: routes.size,
    duplicates: duplicates.length,
  };
}

function ordersInLogs(pair: LocalPair, traders: readonly Trader[]): VenueOrder[] {
  return PAIR_VENUES.flatMap((venue) =>
    traders.flatMap((trader) =>
      pair[venue].log
        .records({ accountId: accountOf(venue, trader), action: "place" })
        .filter(({ orderId }) => orderId !== null)
        .map((record) => ({ venue, symbol: canonicalOf(record.symbol), record })),
    ),
  );
}

function canonicalOf(native: string | null): string {
  return (native ?? "unknown").replace(/USDT$/, "");
}

function isFilled({ record }: VenueOrder): boolean {
  return Number(record.filledQty ?? "0") > 0;
}

function lastVersions(fills: readonly TextRow[]): TextRow[] {
  const last = new Map<string, TextRow>();
  for (const row of fills) {
    const name = `${row["venue"]} ${row["fill_id"]}`;
    const known = last.get(name);
    if (known === undefined || BigInt(row["ver"] ?? "0") > BigInt(known["ver"] ?? "0")) last.set(name, row);
  }
  return [...last.values()];
}

function repeated(what: string, rows: readonly TextRow[], nameOf: (row: TextRow) => string): string[] {
  const seen = new Set<string>();
  const found: string[] = [];
  for (const row of rows) {
    const name = nameOf(row);
    if (seen.has(name)) found.push(`${what} twice: ${name}`);
    seen.add(name);
  }
  return found;
}

/** One row for each filled order, with the venue's id, side, size and price; none for anything else. */
function fillProblems(
  pair: LocalPair,
  orders: readonly VenueOrder[],
  fills: readonly TextRow[],
  does: (check: RecordCheck) => boolean,
): string[] {
  const found: string[] = [];
  const rows = new Map(fills.map((row) => [`${row["venue"]} ${row["fill_id"]}`, row]));
  for (const order of orders) {
    if (!isFilled(order)) continue;
    const { venue, symbol, record } = order;
    const at = `${venue} ${record.orderId ?? ""}`;
    const row = rows.get(at);
    rows.delete(at);
    if (row === undefined) {
      if (does("fill there"))
        found.push(`no fill row: ${at}, ${record.filledQty ?? ""} ${symbol} of ${record.clientId ?? ""}`);
      continue;
    }
    if (does("fill figures")) {
      if (row["symbol"] !== symbol) found.push(`${at}: symbol ${row["symbol"]}, the venue's is ${symbol}`);
      if (row["side"] !== record.side) found.push(`${at}: side ${row["side"]}, the venue's is ${record.side ?? ""}`);
      if (!equal(row["qty"], record.filledQty))
        found.push(`${at}: ${row["qty"]} filled, the venue says ${record.filledQty}`);
      if (!equal(row["ordered_qty"], record.qty))
        found.push(`${at}: ${row["ordered_qty"]} ordered, the venue was sent ${record.qty}`);
    }
    if (does("fill intent") && row["intent"] !== "CLOSE")
      found.push(`${at}: recorded as ${row["intent"]}, every order here closes`);
    // Venues print an average with at least the decimals of the instrument's prices, and may cut it there.
    const decimals = pair[venue].exchange.instruments.get(record.symbol ?? "")?.priceDecimals ?? 0;
    // A price that its venue did not report before a kill is recorded as unknown, never as 0.
    if (
      does("fill price") &&
      row["px"] !== "" &&
      Math.abs(Number(row["px"]) - Number(record.averagePrice)) > 10 ** -decimals
    )
      found.push(`${at}: at ${row["px"]}, the venue says ${record.averagePrice}`);
  }
  if (does("fill there")) for (const at of rows.keys()) found.push(`a fill row of no order of the venue's log: ${at}`);
  return found;
}

/** A minute's candle consists of its trades, each id once, and each minute with trades has one. */
function candleProblems({ candles, tradedMinutes }: StoredRecords): string[] {
  const found: string[] = [];
  const nameOf = (row: TextRow): string => `${row["venue"]} ${row["symbol"]} ${row["minute"]}`;
  const left = new Map(candles.map((row) => [nameOf(row), row]));
  for (const minute of tradedMinutes) {
    const name = nameOf(minute);
    const candle = left.get(name);
    left.delete(name);
    if (candle === undefined) found.push(`candle ${name}: missing`);
    else
      for (const figure of ["trades", "volume", "top", "bottom"])
        if (!equal(candle[figure], minute[figure]))
          found.push(`candle ${name}: ${figure} ${candle[figure]}, its trades say ${minute[figure]}`);
  }
  for (const name of left.keys()) found.push(`candle ${name}: of no trade`);
  return found;
}

/** Versions grow from the intent. The last one, in the log of events and in the view over it, is the venue's state. */
function eventProblems(orders: ReadonlyMap<string, VenueOrder>, stored: StoredRecords): string[] {
  const found: string[] = [];
  const latest = new Map(stored.ordersLatest.map((row) => [row["order_key"], row]));
  const told = new Set<string>();
  for (const events of groupsOf(stored.orderEvents, orderName).values()) {
    const last = events.at(-1) as TextRow;
    const at = `${last["venue"]} ${last["client_order_id"]}`;
    // One version may be skipped: a crash may leave an order with its intent alone, and nobody knows that it was sent.
    for (const [index, event] of events.entries())
      if (index > 0 && BigInt(event["ver"] ?? "") <= BigInt(events[index - 1]?.["ver"] ?? ""))
        found.push(`order ${at}: version ${event["ver"]} after ${events[index - 1]?.["ver"]}`);
    if (events[0]?.["status"] !== "INTENT") found.push(`order ${at}: begins as ${events[0]?.["status"]}`);
    const order = orders.get(at);
    if (order === undefined) {
      const isNothing = last["outcome"] === "NOT_SENT" || last["outcome"] === "REJECTED";
      if (!isNothing || Number(last["filled"]) > 0)
        found.push(`order ${at}: ends as ${last["outcome"]} ${last["status"]}, the venue has no such order`);
      continue;
    }
    if (last["outcome"] === "NOT_SENT") continue;
    told.add(at);
    for (const [where, row] of [["events", last] as const, ["orders_latest", latest.get(last["order_key"])] as const]) {
      if (row === undefined) found.push(`order ${at}: not in ${where}`);
      else if (!equal(row["filled"], order.record.filledQty ?? "0") || !isSameState(row["status"], order.record))
        found.push(
          `order ${at}: ${where} end at ${row["status"]} ${row["filled"]}, the venue's at ${order.record.status ?? ""} ${order.record.filledQty ?? ""}`,
        );
    }
    if (last["order_id"] !== String(order.record.orderId))
      found.push(`order ${at}: id ${last["order_id"]}, the venue's is ${order.record.orderId ?? ""}`);
  }
  for (const at of orders.keys()) if (!told.has(at)) found.push(`order ${at}: no event`);
  return found;
}

/** We have fewer words: an order that ended early with or without a fill is CANCELED or PARTIALLY_FILLED. */
function isSameState(status: string | undefined, { status: theirs }: SimRequestRecord): boolean {
  if (theirs === "FILLED" || theirs === "REJECTED") return status === theirs;
  if (theirs === "NEW") return status === "OPEN";
  return status === "CANCELED" || status === "PARTIALLY_FILLED";
}

/** What each route's orders did, by the venues' logs; routes without orders are absent. */
function routesOf(
  orders: ReadonlyMap<string, VenueOrder>,
  events: readonly TextRow[],
): Map<string, ReadonlySet<VenueOrder>> {
  const routes = new Map<string, Set<VenueOrder>>();
  for (const told of groupsOf(events, orderName).values()) {
    const last = told.at(-1) as TextRow;
    const order = orders.get(`${last["venue"]} ${last["client_order_id"]}`);
    // The next close with its key may reuse the id of an order that never left.
    if (order === undefined || last["outcome"] === "NOT_SENT") continue;
    const route = routes.get(last["route_id"] ?? "") ?? new Set();
    route.add(order);
    routes.set(last["route_id"] ?? "", route);
  }
  return routes;
}

/** Each executed route has one final row with the venue and the size of the logs, and at most one reply. */
function decisionProblems(
  routes: ReadonlyMap<string, ReadonlySet<VenueOrder>>,
  decisions: readonly TextRow[],
): string[] {
  const found: string[] = [];
  const concluded = groupsOf(
    decisions.filter((row) => row["dry_run"] !== "1" && (row["kind"] === "replied" || row["kind"] === "resolved")),
    (row) => row["route_id"] ?? "",
  );
  for (const [routeId, orders] of routes) {
    const rows = concluded.get(routeId) ?? [];
    const final = rows.filter((row) => row["state"] !== "UNKNOWN");
    if (final.length !== 1) {
      found.push(`route ${routeId}: ${final.length} final decision rows of ${rows.length}`);
      continue;
    }
    const [row] = final as [TextRow];
    const filled = [...orders].filter(isFilled);
    // Sizes of one close have at most 8 decimals.
    const size = filled.reduce((sum, { record }) => sum + Math.round(Number(record.filledQty) * 1e8), 0);
    if (Math.round(Number(row["filled_sz"]) * 1e8) !== size)
      found.push(`route ${routeId}: ${row["filled_sz"]} filled, the venues say ${size / 1e8}`);
    if (filled.length > 0 && !filled.some(({ venue }) => venue === row["executed_on"]))
      found.push(`route ${routeId}: executed on ${row["executed_on"]}, the logs say ${filled[0]?.venue ?? ""}`);
    if (filled.length > 0 && !filled.some(({ record }) => String(record.orderId) === row["order_id"]))
      found.push(`route ${routeId}: order ${row["order_id"]} is none of its orders`);
  }
  for (const [routeId, rows] of concluded) {
    const claimed = rows.find((row) => Number(row["filled_sz"]) > 0);
    if (claimed !== undefined && !routes.has(routeId))
      found.push(`route ${routeId}: ${claimed["filled_sz"]} filled, the venues' logs have no order of it`);
  }
  return found;
}

/** The executed orders of one key are of one route, and of no other key. */
function trialProblems(
  orders: ReadonlyMap<string, VenueOrder>,
  routes: ReadonlyMap<string, ReadonlySet<VenueOrder>>,
  trials: readonly CloseTrial[],
): string[] {
  const found: string[] = [];
  const routeOfOrder = new Map(
    [...routes].flatMap(([routeId, of]) => [...of].map((order) => [order, routeId] as const)),
  );
  const trialOfRoute = new Map<string, string>();
  for (const trial of trials) {
    const legs = trial.answers.findLast(({ data }) => data !== null)?.data?.execution.legs ?? [];
    const executed = legs.flatMap(
      ({ exchange, venueClientOrderId }) => orders.get(`${exchange} ${venueClientOrderId}`) ?? [],
    );
    const own = new Set(executed.map((order) => routeOfOrder.get(order)));
    if (own.size > 1) found.push(`${trial.key}: orders of ${own.size} routes`);
    for (const routeId of own) {
      if (routeId === undefined) found.push(`${trial.key}: an executed order without a route in the record`);
      else if (trialOfRoute.has(routeId))
        found.push(`${trial.key}: route ${routeId} is ${trialOfRoute.get(routeId)}'s`);
      else trialOfRoute.set(routeId, trial.key);
    }
  }
  for (const routeId of routes.keys()) if (!trialOfRoute.has(routeId)) found.push(`route ${routeId} is no key's`);
  return found;
}

/** Events of one order of one route. */
function orderName(row: TextRow): string {
  return `${row["route_id"]} ${row["order_key"]}`;
}

function groupsOf(rows: readonly TextRow[], nameOf: (row: TextRow) => string): Map<string, TextRow[]> {
  const groups = new Map<string, TextRow[]>();
  for (const row of rows) {
    const name = nameOf(row);
    const group = groups.get(name) ?? [];
    group.push(row);
    groups.set(name, group);
  }
  return groups;
}

function equal(left: string | null | undefined, right: string | null | undefined): boolean {
  return compareDecimals(left || "0", right || "0") === 0;
}

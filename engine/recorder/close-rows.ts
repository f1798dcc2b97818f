/**
 * Closes as rows of the record: one wide decision row, one for each state of an order, one for each filled order.
 *
 * Invariant: rows contain only what replies contain: no credential, no account label.
 */
import { formatScaled } from "../domain/decimal.js";
import { formatRatio, multiplyRatio, ratioFromScaled, ratioFromText, subtractRatio } from "../domain/decimal-ratio.js";
import type { Logger } from "../domain/logger.js";
import { LOCAL_OWNER } from "../domain/owner.js";
import { submittedLots, submittedTicks } from "../orders/attempt-figures.js";
import { averagePrice } from "../orders/run-totals.js";
import { feeOf } from "../orders/conclude/reply.js";
import { isOfPosition, ownerOf, type OrderAttempt } from "../orders/run.js";
import type { TradeData } from "../orders/types.js";
import type { DecisionEvent } from "../orders/conclude/decision-event.js";
import { fillIdOf, type OrderEvent } from "../orders/conclude/order-events.js";
import type { ConcludedTrade, RecordedRun } from "../orders/conclude/record-sink.js";
import type { RoutingCandidate, RoutingReport } from "../routing/report.js";
import type { RecordTableName } from "../storage/records/record-table.js";
import type { StateWrite } from "../storage/state-store.js";
import { detailText, DurableRows } from "./durable-rows.js";
import type { RowValues } from "./row-codec.js";

/** Scale of the money columns. */
const MONEY_PLACES = 18;
const CLOSE_TABLES = ["routing_decisions", "fills", "order_events"] as const;
type CloseTable = (typeof CLOSE_TABLES)[number];

export class CloseRows {
  readonly #rows: DurableRows<CloseTable>;

  constructor(logger: Logger) {
    this.#rows = new DurableRows(CLOSE_TABLES, logger);
  }

  /** Number of figures that lost some of their digits. */
  cutCount(table: RecordTableName): number {
    return this.#rows.cutCount(table);
  }

  decision(concluded: ConcludedTrade): StateWrite[] {
    const { run, events, routing } = concluded;
    const id = decisionId(concluded);
    const writes = run === null ? [] : this.events(run, events);
    writes.push(this.#rows.write("routing_decisions", concluded.tsMs, id, decisionRow(id, concluded, routing)));
    return writes;
  }

  events(run: RecordedRun, events: readonly OrderEvent[]): StateWrite[] {
    const writes: StateWrite[] = [];
    for (const event of events) {
      const { attempt, ver } = event;
      const order = `${run.routeId}|${attempt.clientIdHex}`;
      writes.push(this.#rows.write("order_events", event.atMs, `${order}|${ver}`, orderEventRow(run, event)));
      if (!event.filled) continue;
      // A row of its own: the previous one may still wait in the outbox.
      const unique = event.isFilledAgain === true ? `${order}|${ver}` : order;
      writes.push(this.#rows.write("fills", run.startedAtMs, unique, fillRow(run, event)));
    }
    return writes;
  }

  /** The row of a decision without orders, for which nothing waits. */
  noted(event: DecisionEvent, id: string): Buffer {
    const routing = event.data?.routing ?? event.routing;
    const { tsMs, ownerId, requestId, symbol, direction, code, data, elapsedMs } = event;
    const kind = event.kind === "replayed" ? "replied" : event.kind;
    const what = { kind, tsMs, ownerId, requestId, symbol, direction, code, data, elapsedMs };
    const concluded = { ...what, run: null, events: [] };
    return this.#rows.encode("routing_decisions", {
      ...decisionRow(id, concluded, routing),
      dry_run: event.dryRun,
    });
  }
}

/** One id for each conclusion, the same when it is concluded again after a crash. */
function decisionId({ kind, requestId, routing, run }: ConcludedTrade): string {
  if (kind === "refused") return `${routing.routeId}:refused:${requestId}`;
  if (kind === "replied") return `${routing.routeId}:replied`;
  const recorded = run === null ? 0 : run.attempts.reduce((sum, attempt) => sum + (attempt.recorded?.ver ?? 0), 0);
  return `${routing.routeId}:resolved:${recorded}`;
}

// ---------------------------------------------------------------- rows

function orderEventRow(run: RecordedRun, event: OrderEvent): RowValues {
  const { attempt, status } = event;
  const order = status === "INTENT" || status === "SENT" ? null : attempt.order;
  const refused = attempt.outcome === "REJECTED" || attempt.outcome === "NOT_SENT";
  return {
    rx: event.atMs * 1000,
    ex: order?.tsVenueMs ?? 0,
    venue: attempt.venue,
    symbol: run.symbol,
    order_key: attempt.clientIdHex,
    ver: versionOf(event),
    route_id: run.routeId,
    request_id: run.requestId,
    order_id: order?.venueOrderId ?? "",
    client_order_id: attempt.venueClientOrderId,
    side: attempt.side,
    order_type: attempt.type ?? run.orderType,
    status,
    outcome: status === "INTENT" || status === "SENT" ? "PENDING" : attempt.outcome,
    px: formatScaled(submittedTicks(attempt), attempt.priceDecimals),
    qty: formatScaled(submittedLots(attempt), attempt.qtyDecimals),
    filled: formatScaled(order?.filledLots ?? 0, attempt.qtyDecimals),
    avg_px: order === null ? null : averageText(attempt),
    reduce_only: attempt.reduceOnly ?? true,
    err: refused && status !== "INTENT" && status !== "SENT" ? refusalText(attempt) : "",
    owner: ownerOf(run) ?? LOCAL_OWNER,
  };
}

function fillRow(run: RecordedRun, event: OrderEvent): RowValues {
  const { attempt } = event;
  const order = attempt.order;
  const filledLots = order?.filledLots ?? 0;
  const fee = feeOf(attempt)[0];
  const candidate = run.routing?.candidates.find(({ exchange }) => exchange === attempt.venue);
  return {
    rx: event.atMs * 1000,
    ex: order?.tsVenueMs ?? 0,
    at: run.startedAtMs,
    venue: attempt.venue,
    symbol: run.symbol,
    fill_id: attempt.recorded?.fillId ?? fillIdOf(attempt),
    ver: versionOf(event),
    order_key: attempt.clientIdHex,
    route_id: run.routeId,
    request_id: run.requestId,
    wallet_id: "",
    direction: run.direction,
    side: attempt.side,
    order_type: attempt.type ?? run.orderType,
    price: averageText(attempt),
    intent: attempt.reduceOnly === false ? "OPEN" : "CLOSE",
    qty: formatScaled(filledLots, attempt.qtyDecimals),
    ordered_qty: formatScaled(submittedLots(attempt), attempt.qtyDecimals),
    fee: fee?.amount ?? null,
    fee_asset: fee?.asset ?? "",
    fee_source: fee?.source ?? "",
    maker: false,
    realized_pnl: realizedPnl(run, attempt),
    // Orders that follow an entry were not routed.
    quoted_px: isOfPosition(attempt) ? (candidate?.vwap ?? null) : null,
    worst_px: formatScaled(submittedTicks(attempt), attempt.priceDecimals),
    ref_mid: referenceOf(run, attempt),
    owner: ownerOf(run) ?? LOCAL_OWNER,
  };
}

/** Orders that followed an entry have a reference of their own: a stop its trigger, the undo the mid of its time. */
function referenceOf(run: RecordedRun, attempt: OrderAttempt): string | null {
  if (isOfPosition(attempt)) return run.routing?.reference?.mid ?? null;
  if (attempt.triggerTicks !== undefined) return formatScaled(attempt.triggerTicks, attempt.priceDecimals);
  return attempt.refMid ?? null;
}

type DecisionParts = Omit<ConcludedTrade, "routing">;

function decisionRow(id: string, concluded: DecisionParts, routing: RoutingReport | null): RowValues {
  const { data, run } = concluded;
  const candidates = routing?.candidates ?? [];
  const isLimit = (run?.orderType ?? data?.order?.type) === "LIMIT";
  return {
    at: concluded.tsMs,
    symbol: concluded.symbol,
    decision_id: id,
    request_id: concluded.requestId,
    route_id: routing?.routeId ?? "",
    kind: concluded.kind,
    direction: concluded.direction,
    dry_run: false,
    err: concluded.code ?? "",
    order_type: run?.orderType ?? data?.order?.type ?? "",
    requested_sz: data?.execution.requestedSize ?? run?.requestedSize ?? null,
    limit_px: isLimit ? (routing?.limits.worstPrice ?? null) : null,
    preferred: routing?.forced === true ? (routing.recommended ?? "") : "",
    max_slippage_bps: routing === null ? null : numberText(routing.limits.maxSlippageBps),
    recommended: routing?.recommended ?? "",
    reason: routing?.reason ?? "",
    expected_px: routing?.price ?? null,
    worst_px: routing?.limits.worstPrice ?? null,
    ref_mid: routing?.reference?.mid ?? null,
    ref_venue: routing?.reference?.exchange ?? "",
    savings: routing?.savings ?? null,
    ...candidateColumns(candidates),
    ...resultColumns(data),
    total_us: stageUs(data?.execution.timingMs.total ?? concluded.elapsedMs),
    positions_us: stageUs(data?.execution.timingMs.positions ?? null),
    decide_us: stageUs(data?.execution.timingMs.routing ?? null),
    sign_us: stageUs(data?.execution.timingMs.sign ?? null),
    venue_us: stageUs(data?.execution.timingMs.venue ?? null),
    detail: detailOf(data, candidates),
    intent: run === null ? "" : (run.intent ?? "CLOSE"),
    owner: concluded.ownerId ?? LOCAL_OWNER,
  };
}

function candidateColumns(candidates: readonly RoutingCandidate[]): RowValues {
  return {
    c_venue: candidates.map(({ exchange }) => exchange),
    c_status: candidates.map(({ selected, eligible }) =>
      selected === true ? "selected" : eligible ? "eligible" : "ineligible",
    ),
    c_reason: candidates.map(({ reasonCode }) => reasonCode ?? ""),
    c_all_in_px: candidates.map(({ allInPrice }) => allInPrice ?? null),
    c_vwap: candidates.map(({ vwap }) => vwap ?? null),
    c_fee_bps: candidates.map(({ feeBps }) => feeBps ?? null),
    c_slippage_bps: candidates.map(({ slippageBps }) => slippageBps ?? null),
    c_cost_bps: candidates.map(({ costBps }) => costBps ?? null),
    c_depth: candidates.map(({ depthWithinCap }) => depthWithinCap ?? null),
    c_book_age_us: candidates.map(({ book }) => bookAgeUs(book?.ageMs ?? null)),
    c_book_seq: candidates.map(({ book }) => book?.venueSeq ?? null),
  };
}

function resultColumns(data: TradeData | null): RowValues {
  const execution = data?.execution ?? null;
  return {
    executed_on: data?.executedOn ?? "",
    state: execution?.state ?? "",
    order_id: data?.order?.orderId ?? "",
    submitted_sz: execution?.submittedSize ?? null,
    filled_sz: execution?.filledSize ?? null,
    avg_px: execution?.averagePrice ?? null,
    notional: execution?.notional ?? null,
    slippage_bps: execution?.realizedSlippageBps ?? null,
    vs_quote_bps: execution?.vsQuoteBps ?? null,
  };
}

// ---------------------------------------------------------------- figures

/** Room for this many states of one attempt. */
const STATES_MAX = 4_096;

/**
 * Grows also where a client id is reused: a close that never left this machine frees its key, and the next one with the
 * key creates the same id.
 */
function versionOf({ attempt, ver }: OrderEvent): number {
  return attempt.intentAtMs * STATES_MAX + Math.min(ver, STATES_MAX - 1);
}

function averageText(attempt: OrderAttempt): string | null {
  const average = averagePrice(attempt);
  return average === null ? null : formatRatio(average, MONEY_PLACES, "halfUp");
}

/** Returns the profit before fees; null where nothing was closed, or the position's entry price is unknown. */
function realizedPnl(run: RecordedRun, attempt: OrderAttempt): string | null {
  if (attempt.reduceOnly === false || !isOfPosition(attempt)) return null;
  const entry = run.positionsBefore.find(({ venue }) => venue === attempt.venue)?.entryPrice ?? null;
  const average = averagePrice(attempt);
  if (entry === null || average === null) return null;
  const entryRatio = ratioFromText(entry);
  const gain = run.direction === "LONG" ? subtractRatio(average, entryRatio) : subtractRatio(entryRatio, average);
  const filled = ratioFromScaled(attempt.order?.filledLots ?? 0, attempt.qtyDecimals);
  return formatRatio(multiplyRatio(gain, filled), MONEY_PLACES, "halfUp");
}

function refusalText(attempt: OrderAttempt): string {
  return attempt.venueText === null ? (attempt.reason ?? "") : `${attempt.reason ?? ""}: ${attempt.venueText}`;
}

function stageUs(ms: number | null): number | null {
  return ms === null ? null : Math.min(0xffff_ffff, Math.max(0, Math.round(ms * 1000)));
}

/** The age of a book that was never proven is no number. */
function bookAgeUs(ageMs: number | null): number | null {
  return ageMs === null || ageMs > 1e9 ? null : ageMs * 1000;
}

/** A figure from the caller, 0 to 10000 with at most a few decimal places. */
function numberText(value: number): string {
  return value.toFixed(6);
}

/** Everything without a column: legs and adjustments as replied, and how each candidate's figures were found. */
function detailOf(data: TradeData | null, candidates: readonly RoutingCandidate[]): string {
  if (data === null && candidates.length === 0) return "";
  const execution = data?.execution;
  return detailText({
    note: execution?.note ?? null,
    adjustments: execution?.adjustments ?? [],
    fees: execution?.fees ?? [],
    legs: execution?.legs ?? [],
    ...(execution?.protection == null
      ? {}
      : { protection: execution.protection, protectionOrders: execution.protectionOrders ?? [] }),
    candidates: candidates.map(
      ({ exchange, rank, topOfBook, worstLevel, levelsUsed, latencyMsP90, feeSource, book }) => ({
        ...{ exchange, rank, topOfBook, worstLevel, levelsUsed, latencyMsP90, feeSource },
        source: book?.source,
      }),
    ),
  });
}

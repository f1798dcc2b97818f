/**
 * Checks orders of the single-venue routes, repeated under one key, and the status that lists orders without an end.
 */
import type { SimRequestRecord } from "../../../sim/core/server/request-log.js";
import type { Json } from "../../../../gateway/test/client.js";
import { NEUTRAL, scaled } from "../close-judge.js";
import type { Ask } from "../trade-ask.js";
import type { TradeAnswer, TradeTrial } from "../trade-trial.js";
import type { Evidence, TradeCheck } from "./evidence.js";

interface OrderView {
  readonly orderId: string;
  readonly status: string;
  readonly filledQuantity: string;
  readonly averagePrice: string | null;
  readonly venueClientOrderId: string | null;
}

/** This 500 is part of the interface: the order is proven not to be at the venue. */
const NOT_PLACED = "FAILED_TO_PLACE_ORDER";

const NOT_READ: ReadonlySet<string> = new Set(["MISSING_PARAMETERS", "INVALID_PARAMETERS"]);
const FINAL: ReadonlySet<string> = new Set(["FILLED", "CANCELED", "EXPIRED", "REJECTED"]);

/** The order in a reply of a single-order route, in any venue's form. */
export function orderOf(body: Json): (OrderView & { readonly isFinal: boolean }) | null {
  const { data, order } = (body ?? {}) as unknown as { readonly data?: OrderView; readonly order?: OrderView };
  const view = order ?? data ?? null;
  return view === null ? null : { ...view, isFinal: FINAL.has(view.status) };
}

/** One key gives one order. Its end is the venue's, and every repeat returns the same. */
export const singleOrders: TradeCheck = (evidence) => {
  const byKey = new Map<string, Ask[]>();
  for (const ask of evidence.asks) {
    const key = ask.terms.order?.idempotencyKey;
    if (ask.kind !== "ORDER" || key === undefined) continue;
    const name = `${ask.trader.label} ${key}`;
    byKey.set(name, [...(byKey.get(name) ?? []), ask]);
  }
  return [...byKey.values()].flatMap((asks) => keyProblems(evidence, asks));
};

function keyProblems(evidence: Evidence, asks: readonly Ask[]): string[] {
  const found: string[] = [];
  const own = placementsOf(evidence, asks);
  const filled = own.reduce((sum, { filledQty }) => sum + scaled(filledQty ?? "0"), 0n);
  const [first] = asks;
  const order = first?.terms.order ?? null;
  if (order === null) return found;
  if (filled > scaled(order.quantity))
    found.push(`${order.idempotencyKey}: ${String(filled)}e-12 filled of ${order.quantity} asked for`);
  let finalText: string | null = null;
  for (const ask of asks) {
    const view = ask.status === 200 ? orderOf(ask.data) : null;
    const at = `${order.idempotencyKey} (${view?.status ?? ask.code ?? ask.status})`;
    if (ask.status >= 500 && ask.status !== 503 && ask.code !== NOT_PLACED && !isVenuesLimit(ask))
      found.push(`${at}: a fault of our own, ${JSON.stringify(ask.data)}`);
    if (NOT_READ.has(ask.code ?? "")) found.push(`${at}: what the operation knows is refused`);
    const [venue] = ask.terms.venues;
    if (venue === undefined) continue;
    const isDone = own.some(({ index, filledQty }) => index < ask.logLengths[venue] && scaled(filledQty ?? "0") > 0n);
    if (view === null && isDone && !NEUTRAL.has(ask.code ?? "")) found.push(`${at}: refused after an execution`);
    if (view === null || !view.isFinal) continue;
    const itself = own.find(({ clientId }) => clientId === view.venueClientOrderId);
    if (scaled(view.filledQuantity) !== scaled(itself?.filledQty ?? "0"))
      found.push(`${at}: filled ${view.filledQuantity}, the venue says ${itself?.filledQty ?? "nothing"}`);
    const text = JSON.stringify([view.status, view.filledQuantity, view.averagePrice]);
    if (finalText !== null && finalText !== text) found.push(`${at}: a final answer changed from ${finalText}`);
    finalText = text;
  }
  return found;
}

/** The venue refuses it for its rate limit, and has it in no log. */
function isVenuesLimit({ code, data }: Ask): boolean {
  const { details } = (data ?? {}) as { readonly details?: { readonly reason?: string } };
  return code === "VENUE_REJECTED" && details?.reason === "RATE_LIMITED";
}

/** Orders of that side and size since the first of them; the scene sends nothing else like it. */
function placementsOf({ placed }: Evidence, asks: readonly Ask[]): readonly SimRequestRecord[] {
  const [first] = asks;
  const [venue] = first?.terms.venues ?? [];
  const order = first?.terms.order;
  if (first === undefined || venue === undefined || order == null) return [];
  return placed[venue].filter(
    ({ accountId, index, side, qty }) =>
      accountId === first.trader.accountIds[venue] &&
      index >= first.logLengthsBefore[venue] &&
      side === order.side &&
      scaled(qty ?? "0") === scaled(order.quantity),
  );
}

/** The status lists an order whose end is unknown before and after the read. */
export const listedOrders: TradeCheck = ({ asks, trials }) =>
  asks.flatMap((ask) => {
    if (ask.kind !== "STATUS" || ask.status !== 200) return [];
    const { openOrders, unknownOrders } = (ask.data ?? {}) as unknown as StatusView;
    const listed = new Set(
      [openOrders, unknownOrders].flatMap((part) => (part?.orders ?? []).map(({ routeId }) => routeId)),
    );
    // The status only counts orders beyond its list.
    const all = (openOrders?.count ?? 0) + (unknownOrders?.count ?? 0);
    if (all > listed.size) return [];
    return trials.flatMap((trial) => {
      const routeId = trial.trader.label === ask.trader.label ? openAround(trial, ask) : null;
      return routeId === null || listed.has(routeId)
        ? []
        : [`${trial.key}: ${routeId} had no end and is in no list of the status`];
    });
  });

function openAround({ answers }: TradeTrial, ask: Ask): string | null {
  const before = answers.findLast(({ answeredAtMs }) => answeredAtMs <= ask.askedAtMs);
  const after = answers.find(({ askedAtMs }) => askedAtMs >= ask.answeredAtMs);
  return isOpen(before) && isOpen(after) ? (before?.data?.routing.routeId ?? null) : null;
}

function isOpen(answer: TradeAnswer | undefined): boolean {
  const execution = answer?.data?.execution;
  return (
    execution !== undefined && !execution.final && (execution.state === "SUBMITTED" || execution.state === "UNKNOWN")
  );
}

interface StatusView {
  readonly openOrders?: ListView;
  readonly unknownOrders?: ListView;
}

interface ListView {
  readonly count: number;
  readonly orders: readonly { readonly routeId: string }[];
}

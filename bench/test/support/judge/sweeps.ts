/** Checks close-all, cancels and dead-man's switches by what they leave at the venues. */
import type { SimOrder } from "../../../sim/core/model/types.js";
import type { SimRequestRecord } from "../../../sim/core/server/request-log.js";
import { FOUR_VENUES, type FourVenue } from "../four-venues.js";
import { nativeName } from "../local-venues.js";
import type { Ask } from "../trade-ask.js";
import { type Evidence, isWorking, JUDGED_SYMBOLS, type TradeCheck } from "./evidence.js";

const DIRECTIONS = ["LONG", "SHORT"] as const;

/** A close-all does what its body says, and reports its end. */
export const closeAlls: TradeCheck = (evidence) =>
  evidence.asks.flatMap((ask) => (ask.kind === "CLOSE_ALL" ? closeAllProblems(evidence, ask) : []));

function closeAllProblems(evidence: Evidence, ask: Ask): string[] {
  const { terms, key } = ask;
  const found: string[] = [];
  const records = FOUR_VENUES.flatMap((venue) => recordsOf(evidence, ask, venue).map((record) => ({ venue, record })));
  if ((terms.dryRun || terms.unknownField !== null) && records.length > 0)
    found.push(
      `${key}: ${records.length} orders and cancels sent, ${terms.dryRun ? "dryRun" : "with an unknown field"}`,
    );
  if (terms.unknownField === null && ask.status === 400) found.push(`${key}: what the operation knows is refused`);
  if (terms.unknownField !== null && ask.status === 200) found.push(`${key}: an unknown field was not refused`);
  for (const { venue, record } of records) {
    const at = `${key}: ${venue} record ${record.index}`;
    if (!terms.venues.includes(venue)) found.push(`${at} on a venue that was not named`);
    const wanted = terms.symbols?.map((symbol) => nativeName(venue, symbol)) ?? null;
    if (wanted !== null && record.symbol !== null && !wanted.includes(record.symbol))
      found.push(`${at} in ${record.symbol}, which was not named`);
    if (record.action === "place" && record.reduceOnly !== true)
      found.push(`${at}: reduceOnly ${String(record.reduceOnly)}`);
  }
  if (ask.status !== 200 || terms.dryRun) return found;
  const { success = false, venues = [] } = (ask.data ?? {}) as unknown as CloseAllView;
  for (const { exchange, state } of venues) {
    for (const symbol of terms.symbols ?? JUDGED_SYMBOLS)
      for (const direction of DIRECTIONS) {
        const fromMs = state === "FLAT" ? ask.askedAtMs : ask.answeredAtMs;
        if (state !== "FLAT" && state !== "CLOSED") continue;
        const held = evidence.holdings.leastHeld(exchange, ask.trader, symbol, direction, fromMs, ask.answeredAtMs);
        if (held > 0n)
          found.push(
            `${key}: ${exchange} is reported as ${state} and holds ${String(held)}e-12 ${symbol} ${direction}`,
          );
      }
    if (!success) continue;
    for (const order of ordersBefore(evidence, ask, exchange, terms.symbols))
      if (isWorking(order))
        found.push(`${key}: reported as a success while order ${order.orderId} works on ${exchange}`);
  }
  return found;
}

interface CloseAllView {
  readonly success?: boolean;
  readonly venues?: readonly { readonly exchange: FourVenue; readonly state: string }[];
}

/** All orders that the trader's account sent between request and answer. */
function recordsOf({ four }: Evidence, ask: Ask, venue: FourVenue): readonly SimRequestRecord[] {
  return four.venues[venue].log
    .records({ accountId: ask.trader.accountIds[venue] })
    .filter(
      ({ index, action }) =>
        index >= ask.logLengthsBefore[venue] &&
        index < ask.logLengths[venue] &&
        (action === "place" || action.startsWith("cancel")),
    );
}

/** Orders that were open at the request. */
function ordersBefore(
  { four }: Evidence,
  ask: Ask,
  venue: FourVenue,
  symbols: readonly string[] | null,
): readonly SimOrder[] {
  const natives = symbols?.map((symbol) => nativeName(venue, symbol)) ?? null;
  return four.venues[venue].exchange.orders
    .all(ask.trader.accountIds[venue])
    .filter(({ createdMs, symbol }) => createdMs < ask.askedAtMs && (natives === null || natives.includes(symbol)));
}

/** An order that a reply calls cancelled is closed at the venue, and an open one is never called gone. */
export const cancels: TradeCheck = (evidence) => {
  const found: string[] = [];
  for (const ask of evidence.asks) {
    const [venue] = ask.terms.venues;
    if (venue === undefined || (ask.kind !== "CANCEL" && ask.kind !== "CANCEL_ALL")) continue;
    const data = (ask.data ?? {}) as {
      readonly status?: string;
      readonly outcome?: string;
      readonly failedCount?: number;
    };
    const gone =
      ask.kind === "CANCEL"
        ? data.status === "CANCELED" || ask.code === "ORDER_NOT_FOUND" || ask.code === "ORDER_NOT_OPEN"
        : data.outcome === "ACCEPTED" && data.failedCount === 0;
    if (!gone) continue;
    for (const order of ordersBefore(evidence, ask, venue, ask.terms.symbols)) {
      const isMeant = ask.kind === "CANCEL_ALL" || ask.terms.orderId === String(order.orderId);
      if (isMeant && isWorking(order))
        found.push(
          `${ask.key} (${ask.code ?? data.status ?? data.outcome ?? ""}): order ${order.orderId} works on ${venue}`,
        );
    }
  }
  return found;
};

/** After the last heartbeat no order of the account stays open at the venue, with or without the service. */
export const switches: TradeCheck = ({ asks }) =>
  asks.flatMap((ask) => {
    if (ask.kind !== "ARM" || ask.status !== 200 || ask.workingAtEnd === null || ask.workingAtEnd === 0) return [];
    return [`${ask.key}: ${ask.workingAtEnd} orders work on ${ask.terms.venues.join(", ")} after the switch's time`];
  });

/** No reply contains a part of its caller's secret, wherever the caller wrote it. */
export const askedSecrets: TradeCheck = ({ asks }) =>
  asks.flatMap(({ key, kind, leakCount, status }) =>
    leakCount === 0 ? [] : [`${key}: ${leakCount} secrets in the answer ${status} to ${kind}`],
  );

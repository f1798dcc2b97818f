/**
 * Checks what comes after the reply: the record has the fills of orders that rest, and an entry gets its stop in time.
 */
import { scaled } from "../close-judge.js";
import type { FourVenue, FourVenues } from "../four-venues.js";
import { nativeName } from "../local-venues.js";
import type { RecordedState } from "../recorded-orders.js";
import type { Reached, TradeTrial } from "../trade-trial.js";
import type { TradeCheck } from "./evidence.js";

/** The longest pause between two reads of a resting entry, or two tries of a stop, plus a pause of the machine. */
export const STOP_BOUND_MS = 25_000;

/** The record has the later fills and the ends of orders that the market reached, each growth once. */
export const fillsRecorded: TradeCheck = ({ four, recorded, trials }) =>
  recorded === null ? [] : trials.flatMap((trial) => recordProblems(four, trial, recorded));

/** Trades of which the record lacks something that the market did. */
export function unrecordedCount(
  four: FourVenues,
  trials: readonly TradeTrial[],
  recorded: readonly RecordedState[],
): number {
  return trials.filter((trial) => recordProblems(four, trial, recorded).length > 0).length;
}

function recordProblems(four: FourVenues, { key, reached, trader }: TradeTrial, all: readonly RecordedState[]) {
  if (reached === undefined) return [];
  const { orderId, venue } = reached;
  const { exchange, log } = four.venues[venue];
  const order = exchange.orders.find(orderId);
  const placed = log.records({ action: "place" }).find((record) => record.orderId === orderId);
  if (order === null || placed?.accountId !== trader.accountIds[venue]) return [`${key}: no order ${orderId}`];
  const own = all.filter((state) => state.venue === venue && state.clientId === placed.clientId);
  const fillRows = own.filter(({ fillLots }) => fillLots !== null);
  const fills = fillRows.map(({ fillLots }) => fillLots ?? 0);
  const isAgain = (lots: number, index: number): boolean => {
    const before = fillRows[index - 1];
    return before !== undefined && (before.isPriced ? lots <= (before.fillLots ?? 0) : lots < (before.fillLots ?? 0));
  };
  const at = `${key}: order ${placed.clientId ?? ""} on ${venue}`;
  const found: string[] = [];
  if ((fills.at(-1) ?? 0) !== order.filledLots)
    found.push(`${at} filled ${order.filledLots} lots, recorded are ${fills.at(-1) ?? "none"}`);
  if (fills.some(isAgain)) found.push(`${at}: its fill is recorded again: ${fills.join(", ")}`);
  const ends = own.filter(({ status }) => status === "FILLED").length;
  if (order.status === "FILLED" && ends !== 1) found.push(`${at}: its end is recorded ${ends} times`);
  if (new Set(own.map(({ ver }) => ver)).size !== own.length)
    found.push(
      `${at}: a version is recorded twice: ${own.map(({ fillLots, status, ver }) => `${ver} ${status} ${fillLots ?? "-"}`).join(", ")}`,
    );
  return found;
}

/**
 * Every filled part of an entry has its stop within the bound, also where it filled late or the first stops were
 * refused.
 */
export const stopsInTime: TradeCheck = ({ four, trials }) =>
  trials.flatMap((trial) => {
    const { key, kind, reached, terms } = trial;
    if (reached?.isCalm !== true || kind !== "OPEN" || terms.stopLoss === null) return [];
    const filledLots = four.venues[reached.venue].exchange.orders.find(reached.orderId)?.filledLots ?? 0;
    const lots = stopLotsOf(four, trial, reached.venue, endOf(reached));
    return lots === filledLots
      ? []
      : [
          `${key}: ${filledLots} lots filled on ${reached.venue}, stops of ${lots} lots there ${STOP_BOUND_MS} ms later`,
        ];
  });

/**
 * After the venue took an entry that fills on arrival: the looks before its reply, the first one after it, and a pause of the
 * machine.
 */
export const ARRIVAL_BOUND_MS = 15_000;

/** What an entry filled on arrival has its stop within the bound, where its venue could be read. */
export const stopsOnArrival: TradeCheck = ({ four, trials }) =>
  trials.flatMap((trial) => {
    const { arrived, key } = trial;
    if (arrived?.isReadable !== true) return [];
    const { filledLots, orderId, venue } = arrived;
    const createdMs = four.venues[venue].exchange.orders.find(orderId)?.createdMs ?? 0;
    const lots = stopLotsOf(four, trial, venue, createdMs + ARRIVAL_BOUND_MS);
    if (lots >= filledLots) return [];
    return [`${key}: ${filledLots} lots on arrival at ${venue}, stops of ${lots} lots ${ARRIVAL_BOUND_MS} ms later`];
  });

function endOf({ atMs }: Reached): number {
  return atMs + STOP_BOUND_MS;
}

/** The trade's stops, found by their trigger price, which no other trade of the trader has; those placed until then. */
export function stopLotsOf(four: FourVenues, trial: TradeTrial, venue: FourVenue, untilMs: number): number {
  const { direction, symbol, terms, trader } = trial;
  const { exchange } = four.venues[venue];
  const native = nativeName(venue, symbol);
  const { priceDecimals } = exchange.instruments.get(native) ?? { priceDecimals: 0 };
  const side = direction === "LONG" ? "SELL" : "BUY";
  return exchange.orders.all(trader.accountIds[venue], native).reduce((sum, order) => {
    const { createdMs, reduceOnly, requestedLots, status, trigger } = order;
    if (trigger?.kind !== "STOP" || !reduceOnly || status === "REJECTED" || order.side !== side) return sum;
    const triggerE12 = BigInt(trigger.triggerTicks) * 10n ** BigInt(12 - priceDecimals);
    return triggerE12 === scaled(terms.stopLoss ?? "0") && createdMs <= untilMs ? sum + requestedLots : sum;
  }, 0);
}

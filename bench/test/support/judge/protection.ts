/** After an entry, a stop of the filled size is open at its venue, or the reply says that none is. */
import { qtyText } from "../../../sim/core/model/fixed.js";
import type { SimOrder } from "../../../sim/core/model/types.js";
import { scaled } from "../close-judge.js";
import { FOUR_VENUES, type FourVenue } from "../four-venues.js";
import { nativeName } from "../local-venues.js";
import { isEnd, type TradeTrial } from "../trade-trial.js";
import { type Evidence, placeOf, type TradeCheck } from "./evidence.js";

/** States of a reply that mean that the position is not, or may not be, protected. */
const SAYS_UNPROTECTED: ReadonlySet<string> = new Set(["FAILED", "PARTIAL", "UNKNOWN", "NOT_PLACED"]);
/** Reasons that mean that there is nothing to protect yet. */
const SAYS_NOTHING: ReadonlySet<string> = new Set(["RESTING", "NOTHING_FILLED"]);

export const protections: TradeCheck = (evidence) =>
  evidence.trials.flatMap((trial) => {
    if (trial.kind !== "OPEN" || trial.terms.stopLoss === null) return [];
    const data = trial.answers.findLast((answer) => answer.data !== null)?.data ?? null;
    if (data === null || !isEnd(data)) return [];
    const last = data.execution;
    const word = last.protection ?? "none";
    const reason = last.protectionReason ?? "";
    if (SAYS_UNPROTECTED.has(word) && !SAYS_NOTHING.has(reason)) return [];
    return FOUR_VENUES.flatMap((venue) => stopProblems(evidence, trial, venue, `${word} ${reason}`.trim()));
  });

function stopProblems(evidence: Evidence, trial: TradeTrial, venue: FourVenue, said: string): string[] {
  const own = evidence.of(trial).filter((sent) => sent.venue === venue && sent.order !== null);
  const filledLots = sum(own.filter(({ role }) => role === "POSITION").map(({ order }) => order?.filledLots ?? 0));
  const undoneLots = sum(own.filter(({ role }) => role === "CLOSE").map(({ order }) => order?.filledLots ?? 0));
  if (filledLots === 0 || undoneLots > 0) return [];
  const stops = stopsOf(evidence, trial, venue);
  const stopLots = sum(stops.map(({ requestedLots }) => requestedLots));
  if (stopLots === filledLots) return [];
  const instrument = evidence.four.venues[venue].exchange.instruments.get(nativeName(venue, trial.symbol));
  const text = (lots: number): string => (instrument === undefined ? String(lots) : qtyText(instrument, lots));
  return [
    `${trial.key}: ${text(filledLots)} filled on ${venue}, stops of ${text(stopLots)} there, and reported as ${said}`,
  ];
}

/** The trade's protection orders, by its claims, or by trigger price where they came after the reply. */
function stopsOf(evidence: Evidence, trial: TradeTrial, venue: FourVenue): readonly SimOrder[] {
  const { exchange } = evidence.four.venues[venue];
  const claimed = new Set(
    evidence.of(trial).flatMap(({ role, order }) => (role === "STOP_LOSS" && order !== null ? [order.orderId] : [])),
  );
  const native = nativeName(venue, trial.symbol);
  const { priceDecimals } = exchange.instruments.get(native) ?? { priceDecimals: 0 };
  return exchange.orders.all(trial.trader.accountIds[venue], native).filter((order) => {
    if (order.trigger?.kind !== "STOP" || !order.reduceOnly || order.status === "REJECTED") return false;
    if (order.side !== (trial.direction === "LONG" ? "SELL" : "BUY")) return false;
    const triggerE12 = BigInt(order.trigger.triggerTicks) * 10n ** BigInt(12 - priceDecimals);
    return claimed.has(order.orderId) || triggerE12 === scaled(trial.terms.stopLoss ?? "0");
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}

/** Distance that a book may move within its age limit. */
const MOVED = 0.002;

/** The undo gets its bound from the book of its own venue, as any order does, never from a book of another time. */
export const undoPrices: TradeCheck = (evidence) =>
  evidence.sent.flatMap((sent) => {
    const { venue, record, role, trial } = sent;
    if (role !== "CLOSE") return [];
    if (record.price === null) return [`${placeOf(sent)}: a way back without a bound`];
    const { exchange } = evidence.four.venues[venue];
    const native = nativeName(venue, trial.symbol);
    const book = exchange.market.trueBookAtTime(native, record.receivedMs, 1);
    const [bid, ask] = [book?.bids[0]?.priceTicks, book?.asks[0]?.priceTicks];
    if (bid === undefined || ask === undefined) return [];
    const { priceDecimals } = exchange.instruments.get(native) ?? { priceDecimals: 0 };
    const mid = (bid + ask) / 2 / 10 ** priceDecimals;
    const sells = record.side === "SELL";
    const bound = mid * (1 + ((sells ? -1 : 1) * trial.terms.maxSlippageBps) / 10_000);
    const price = Number(record.price);
    const isWorse = sells ? price < bound * (1 - MOVED) : price > bound * (1 + MOVED);
    return isWorse
      ? [`${placeOf(sent)}: the way back at ${record.price}, beyond ${bound} of the venue's own book`]
      : [];
  });

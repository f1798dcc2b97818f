/**
 * What a new row of a venue's list changes of a contract that is known.
 *
 * Scale: the unit of ticks and lots, and which contract they are of; books, positions and orders in other units mean
 * something else. Terms: everything that an order is checked against. A market keeps its scale for life and is replaced
 * when that changes; other terms are restated in place, so that the book stays.
 */
import { type Instrument, isSameScale } from "../../../engine/domain/instrument.js";
import type { OrderChange, OrderCommand, Refused, VenueOrder } from "../../../engine/domain/order.js";
import type { Market } from "../../../engine/market/market.js";
import { localReject, refusedOf, type RejectedOrder } from "../net/call-results.js";

/** Every field, so that none that is added later is overlooked. */
export function isSameTerms(left: Instrument, right: Instrument): boolean {
  const keys = new Set([...Object.keys(left), ...Object.keys(right)]) as Set<keyof Instrument>;
  for (const key of keys) {
    if (key === "restingMinimum") continue;
    if (left[key] !== right[key]) return false;
  }
  return (
    left.restingMinimum?.qtyLots === right.restingMinimum?.qtyLots &&
    left.restingMinimum?.notional === right.restingMinimum?.notional
  );
}

/**
 * The symbol now names another contract, of which the list may hold a row that could not be read: it does not pass to
 * this one, since positions in that one must still be counted, and no order for it may go elsewhere. `mayHold`: by the
 * venue's name.
 */
export function isAnothers(
  known: Instrument | undefined,
  { nativeSymbol }: Instrument,
  mayHold: (nativeSymbol: string) => boolean,
): boolean {
  return known !== undefined && known.nativeSymbol !== nativeSymbol && mayHold(known.nativeSymbol);
}

/** New terms on the same scale. Readers take a market's instrument at each use, and orders keep the one they were formed by. */
export function restate(market: Market, instrument: Instrument): void {
  if (!isSameScale(market.instrument, instrument)) throw new RangeError("another scale needs another market");
  (market as { instrument: Instrument }).instrument = instrument;
}

/**
 * Why an order must not be sent although it was right when it was formed: the list has changed since. An order that opens
 * does not go to a market that stopped trading; whether one that closes still may, the venue decides.
 */
export function outdatedProblem(
  command: Pick<OrderCommand, "instrument" | "priceTicks" | "qtyLots" | "reduceOnly" | "trigger">,
  instruments: ReadonlyMap<string, Instrument>,
): RejectedOrder | null {
  const { instrument: formed, priceTicks, qtyLots, reduceOnly, trigger } = command;
  const present = instruments.get(formed.symbol);
  if (present === undefined || present === formed) return null;
  if (!isSameScale(formed, present))
    return localReject("VENUE_STATE", "RULES_CHANGED", "the contract was listed again");
  if (present.status !== "TRADING" && !reduceOnly) return localReject("VENUE_STATE", "HALTED", "the market is halted");
  if (qtyLots % present.qtyStepLots !== 0) return localReject("SIZE", "RULES_CHANGED", "the size is off the new grid");
  if (qtyLots > present.maxQtyLots) return localReject("SIZE", "RULES_CHANGED", "the size is above the new maximum");
  if (qtyLots < present.minQtyLots) return localReject("SIZE", "RULES_CHANGED", "the size is below the new minimum");
  const isOffGrid = (ticks: number): boolean => present.priceRule === "step" && ticks % present.priceStepTicks !== 0;
  if (isOffGrid(priceTicks) || (trigger !== undefined && isOffGrid(trigger.priceTicks)))
    return localReject("PRICE", "RULES_CHANGED", "the price is off the new grid");
  return null;
}

/** The same of a change: the outcome of the order must fit too. Cancels are always sent. */
export function outdatedChange(
  instrument: Instrument,
  current: VenueOrder,
  change: OrderChange,
  instruments: ReadonlyMap<string, Instrument>,
): Refused | null {
  const problem = outdatedProblem({ instrument, reduceOnly: current.reduceOnly, ...change }, instruments);
  return problem === null ? null : refusedOf(problem);
}

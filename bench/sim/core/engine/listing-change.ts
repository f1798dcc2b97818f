/**
 * Changes what a venue lists while it runs. Each venue says in its own list what is new; the engine follows here.
 *
 * A market changes its grid while nobody trades: the crowd withdraws, the venue's streams tell that, and it opens again
 * on the new grid. So no quote is ever printed on a grid that it was not made for.
 */
import { delay } from "../../../../engine/domain/clock.js";
import type { SimExchange } from "./exchange.js";
import type { SimInstrument } from "../model/types.js";

export interface ListingChange {
  /** False: listed and not traded. */
  readonly isTrading?: boolean;
  /** False: it leaves the list, or is marked as delisted where nothing ever leaves it. */
  readonly isListed?: boolean;
  /** Steps of the grid, decimal text. */
  readonly priceStep?: string;
  readonly qtyStep?: string;
  /** Smallest order in the venue's own terms, decimal text. */
  readonly minimum?: string;
}

/** Longer than the slowest batch of any venue. */
const TOLD_MS = 600;

/** `adopt` puts the change into the venue's list and returns what the list says now. */
export async function changeListing(
  exchange: SimExchange,
  symbol: string,
  change: ListingChange,
  adopt: () => SimInstrument,
): Promise<void> {
  const isRegridded = change.priceStep !== undefined || change.qtyStep !== undefined;
  if (isRegridded) {
    exchange.controls.setHalted(symbol, true);
    const { bids, asks } = exchange.market.book(symbol);
    for (const { priceTicks } of bids) exchange.controls.setHouseLevel(symbol, "BUY", priceTicks, 0);
    for (const { priceTicks } of asks) exchange.controls.setHouseLevel(symbol, "SELL", priceTicks, 0);
    await delay(exchange.clock, TOLD_MS);
  }
  const instrument = adopt();
  if (isRegridded) exchange.controls.setGrid(symbol, instrument);
  const isOpen = change.isTrading ?? change.isListed;
  if (isOpen !== undefined) exchange.controls.setHalted(symbol, !isOpen);
  else if (isRegridded) exchange.controls.setHalted(symbol, false);
}

/** Decimals of a step like `0.10`: as printed. */
export function printedDecimals(step: string): number {
  return (step.split(".")[1] ?? "").length;
}

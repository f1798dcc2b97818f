/**
 * Changes what a venue lists while it runs. Each venue changes its own list; the engine follows here.
 *
 * A market changes its grid while nobody trades: the crowd withdraws, the venue's streams publish that, and the market
 * opens again on the new grid. No quote is ever printed on a grid that it was not made for.
 */
import { delay } from "../../../../engine/domain/clock.js";
import type { SimExchange } from "./exchange.js";
import type { SimInstrument } from "../model/types.js";

export interface ListingChange {
  /** False lists it without trading. */
  readonly isTrading?: boolean;
  /** False removes it from the list, or marks it as delisted where the venue's list keeps everything. */
  readonly isListed?: boolean;
  /** Steps of the grid, decimal text. */
  readonly priceStep?: string;
  readonly qtyStep?: string;
  /** Smallest order in the venue's own terms, decimal text. */
  readonly minimum?: string;
}

/** By then every venue has published the change: longer than the slowest batch. */
const PUBLISHED_MS = 600;

/** `adopt` puts the change into the venue's list and returns the listed instrument. */
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
    await delay(exchange.clock, PUBLISHED_MS);
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

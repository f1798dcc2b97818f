/**
 * Checks a room's markets against the venue's list. No market that the venue does not trade is LIVE. No market that it
 * trades stays unstreamed. Every shown level lies on the venue's present grid, near its present price. The checker
 * trusts none of the room's own counters.
 */
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import { type Book, BOOK_LIVE } from "../../../engine/market/book.js";
import type { MarketRoom } from "../../../engine/ports.js";
import type { SimExchange } from "../../sim/core/engine/exchange.js";
import { nativeName } from "./local-venues.js";

export type RuleBreach = "routable" | "unstreamed" | "off grid";

/** Prices and sizes of both sides are compared in units of 1e-8. */
const UNIT_DECIMALS = 8;
/** Two samples of one market are never so far apart in price; another scale is. */
const NEAR_SHARE = 0.05;

export class ListingChecker {
  readonly problems: string[] = [];
  readonly breaches = new Set<RuleBreach>();
  /** Levels compared with the grid. */
  levelCount = 0;
  readonly #room: MarketRoom;
  readonly #exchange: SimExchange;

  constructor(room: MarketRoom, exchange: SimExchange) {
    this.#room = room;
    this.#exchange = exchange;
  }

  get venue(): RoutableVenue {
    return this.#room.venue;
  }

  /** Returns whether the room shows it as a market to trade in: by its status, and with a book. */
  isRoutable(symbol: string): boolean {
    const market = this.#room.markets.get(symbol);
    return market !== undefined && (market.book.state === BOOK_LIVE || market.instrument.status === "TRADING");
  }

  isStreamed(symbol: string): boolean {
    const market = this.#room.markets.get(symbol);
    return market?.book.state === BOOK_LIVE && market.instrument.status === "TRADING" && market.book.bidCount > 0;
  }

  /** Returns null when the market has the venue's present steps and each level of its book lies on them. */
  gridProblem(symbol: string): string | null {
    const market = this.#room.markets.get(symbol);
    const native = nativeName(this.venue, symbol);
    const listed = this.#exchange.instruments.get(native);
    if (market === undefined || listed === undefined) return "not listed";
    const { instrument, book } = market;
    const priceStep = inUnits(listed.priceStepTicks, listed.priceDecimals);
    const shownStep = inUnits(instrument.priceStepTicks, instrument.priceDecimals);
    if (shownStep !== priceStep) return `a price step of ${shownStep}e-8, listed ${priceStep}e-8`;
    const qtyStep = inUnits(listed.qtyStepLots, listed.qtyDecimals);
    const shownQtyStep = inUnits(instrument.qtyStepLots, instrument.qtyDecimals);
    if (shownQtyStep !== qtyStep) return `a size step of ${shownQtyStep}e-8, listed ${qtyStep}e-8`;
    const best = this.#exchange.market.bestBid(native);
    if (book.state !== BOOK_LIVE || best === null) return null;
    const truePrice = inUnits(best.priceTicks, listed.priceDecimals);
    for (const ticks of ticksOf(book)) {
      this.levelCount++;
      const price = inUnits(ticks, instrument.priceDecimals);
      if (price % priceStep !== 0) return `a level at ${price}e-8, off the step of ${priceStep}e-8`;
      if (Math.abs(price - truePrice) > NEAR_SHARE * truePrice)
        return `a level at ${price}e-8, bids at ${truePrice}e-8`;
    }
    return null;
  }

  breach(kind: RuleBreach, text: string): void {
    this.breaches.add(kind);
    this.problems.push(`${this.venue}, ${kind}: ${text}`);
  }
}

function inUnits(count: number, decimals: number): number {
  return count * 10 ** (UNIT_DECIMALS - decimals);
}

function* ticksOf(book: Book): Iterable<number> {
  for (let index = 0; index < book.bidCount; index++) yield book.bidTicks(index);
  for (let index = 0; index < book.askCount; index++) yield book.askTicks(index);
}

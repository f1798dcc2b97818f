/**
 * Checks what a room claims to be fresh against the present: the best prices that a router would meet lie among the
 * true ones of the last WINDOW_MS. The book checker compares each book with the moment that the book itself names, so
 * it accepts a delayed frame, and a touch whose moment is still to come.
 *
 * The checker trusts none of the room's own counters, only its claim: LIVE, and proven within the market's age limit.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { RoutableVenue } from "../../../engine/domain/venue.js";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import { bestTicks } from "../../../engine/market/depth-walk.js";
import { ageMs } from "../../../engine/market/freshness.js";
import type { Market } from "../../../engine/market/market.js";
import type { MarketRoom } from "../../../engine/ports.js";
import type { SimExchange } from "../../sim/core/engine/exchange.js";
import { nativeName } from "./local-venues.js";

/** A frame may be as late as a book may be old, and its book that old again, plus the delay of a busy machine. */
const WINDOW_MS = 5_000;
/** Between two samples of the truth its price may have gone a little further. */
const TOLERANCE_BPS = 2;
const PROBLEMS_KEPT_MAX = 20;

interface TrueBid {
  readonly atMs: number;
  readonly price: number;
}

interface WatchedTop {
  readonly name: string;
  readonly venue: RoutableVenue;
  readonly market: Market;
  readonly trueBid: () => number | null;
  /** Prices of the last WINDOW_MS, and the one before these; oldest first. */
  readonly bids: TrueBid[];
}

export class TopChecker {
  readonly problems: string[] = [];
  /** Samples of prices that were claimed fresh. */
  claimCount = 0;
  /** Samples of these that are none of the last WINDOW_MS. */
  staleCount = 0;
  /** Venues of these samples. */
  readonly staleVenues = new Set<RoutableVenue>();
  readonly #clock: Clock;
  readonly #tops: WatchedTop[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  watch(exchange: SimExchange, room: MarketRoom, venue: RoutableVenue, symbols: readonly string[]): void {
    for (const symbol of symbols) {
      const market = room.markets.get(symbol);
      if (market === undefined) throw new Error(`${venue} lists no ${symbol}`);
      const native = nativeName(venue, symbol);
      const decimals = exchange.instruments.get(native)?.priceDecimals ?? 0;
      const trueBid = (): number | null => {
        const bid = exchange.market.trueBookAtTime(native, exchange.nowMs(), 1)?.bids[0];
        return bid === undefined ? null : bid.priceTicks / 10 ** decimals;
      };
      this.#tops.push({ name: `${venue} ${symbol}`, venue, market, trueBid, bids: [] });
    }
  }

  /** Call it often. */
  sample(): void {
    const nowMs = this.#clock.monoNs() / 1e6;
    for (const top of this.#tops) {
      const price = top.trueBid();
      if (price !== null) top.bids.push({ atMs: nowMs, price });
      // A price counts until the next sample: after a pause of the machine that includes the price before it.
      while (nowMs - (top.bids[1]?.atMs ?? nowMs) > WINDOW_MS) top.bids.shift();
      this.#check(top);
    }
  }

  #check({ bids, market, name, venue }: WatchedTop): void {
    const { book, instrument, maxBookAgeMs } = market;
    if (book.state !== BOOK_LIVE || ageMs(book.tsProvenNs, this.#clock.monoNs()) > maxBookAgeMs) return;
    this.claimCount++;
    const shown = bestTicks(market, "SELL") / 10 ** instrument.priceDecimals;
    const prices = bids.map(({ price }) => price);
    const [least, most] = [Math.min(...prices), Math.max(...prices)];
    const tolerance = (most * TOLERANCE_BPS) / 10_000;
    if (shown >= least - tolerance && shown <= most + tolerance) return;
    this.staleCount++;
    this.staleVenues.add(venue);
    if (this.problems.length < PROBLEMS_KEPT_MAX)
      this.problems.push(`${name}: a best bid of ${shown} is called fresh, the true ones were ${least} to ${most}`);
  }
}

/**
 * Holds what a room claims to be fresh to the time it claims: the best prices that a router would meet lie among the
 * true ones of the last WINDOW_MS. The book checker compares each book with the truth of the moment that the book itself
 * names, so it is content with a frame that was held up, and with a touch whose moment is still to come.
 *
 * Nothing of the room's own counters is believed but its claim: LIVE, and proven within the market's age limit.
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

/** A frame may be as late as a book may be old, and its book that old again; and what a busy machine adds. */
const WINDOW_MS = 5_000;
/** Between two looks at the truth its price may have gone a little further. */
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
  /** Of the last WINDOW_MS, and the one that held when these began; oldest first. */
  readonly bids: TrueBid[];
}

export class TopChecker {
  readonly problems: string[] = [];
  /** Looks at what was claimed fresh. */
  claimCount = 0;
  /** Of these, prices that were none of the last WINDOW_MS. */
  staleCount = 0;
  /** Venues of them. */
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
      // A price holds until the next look: a machine that stood still looked last before it, and the price held meanwhile.
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

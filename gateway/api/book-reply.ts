/**
 * Books as replies: one venue's depth (touch overlay and deep tier merged as the router walks them), and the
 * consolidated depth of all venues whose book is live and fresh. Decimal text in canonical quoting, exact.
 */
import { formatScaled, formatScaledBig } from "../../engine/domain/decimal.js";
import { canonicalPriceDecimals, canonicalQtyDecimals } from "../../engine/domain/instrument.js";
import { ROUTABLE_VENUES, type RoutableVenue } from "../../engine/domain/venue.js";
import { ageMs } from "../../engine/market/freshness.js";
import type { Market } from "../../engine/market/market.js";
import type { ConsolidatedBookReply, VenueBookReply } from "../../schemas/book.js";
import { needsDeep, readLevels, type SideName } from "./book-levels.js";
import { bookStateWord, isBookFresh, type MarketView } from "./market-view.js";

const QUOTE_NOTE = "Prices in different quote assets (USDC, USDT) are compared one to one.";

export function venueBook(
  market: Market,
  exchange: RoutableVenue,
  depth: number,
  nowNs: number,
): VenueBookReply["data"] {
  const { instrument, book } = market;
  const useDeep = needsDeep(market, depth, nowNs);
  const shown = useDeep && market.deep !== null ? market.deep : book;
  return {
    exchange,
    symbol: instrument.symbol,
    nativeSymbol: instrument.nativeSymbol,
    state: bookStateWord(book.state),
    bids: levelTexts(market, "bids", depth, useDeep),
    asks: levelTexts(market, "asks", depth, useDeep),
    bidLevels: shown.bidCount,
    askLevels: shown.askCount,
    tier: useDeep ? "deep" : "main",
    venueSeq: book.seq > 0 ? String(book.seq) : null,
    venueTimestamp: book.tsVenueMs > 0 ? book.tsVenueMs : null,
    ageMs: ageMs(shown.tsProvenNs, nowNs),
    quoteAsset: instrument.quoteAsset,
  };
}

/** `[price, size]` texts, best first. */
function levelTexts(market: Market, side: SideName, depth: number, useDeep: boolean): [string, string][] {
  const levels = readLevels(market, side, depth, useDeep);
  const priceDecimals = canonicalPriceDecimals(market.instrument);
  const qtyDecimals = canonicalQtyDecimals(market.instrument);
  const texts: [string, string][] = [];
  for (let index = 0; index < levels.length; index += 2) {
    texts.push([
      formatScaled(levels[index] as number, priceDecimals),
      formatScaled(levels[index + 1] as number, qtyDecimals),
    ]);
  }
  return texts;
}

interface Included {
  readonly exchange: RoutableVenue;
  readonly market: Market;
  readonly useDeep: boolean;
}

export function consolidatedBook(
  view: MarketView,
  symbol: string,
  depth: number,
  nowNs: number,
): ConsolidatedBookReply["data"] {
  const included: Included[] = [];
  const venues: ConsolidatedBookReply["data"]["venues"] = [];
  for (const exchange of ROUTABLE_VENUES) {
    const market = view.market(exchange, symbol);
    if (market === null) {
      venues.push({
        exchange,
        included: false,
        state: "EMPTY",
        ageMs: null,
        quoteAsset: null,
        reason: "SYMBOL_NOT_LISTED",
      });
      continue;
    }
    const fresh = isBookFresh(market, nowNs);
    if (fresh) included.push({ exchange, market, useDeep: needsDeep(market, depth, nowNs) });
    venues.push({
      exchange,
      included: fresh,
      state: bookStateWord(market.book.state),
      ageMs: market.book.tsProvenNs > 0 ? ageMs(market.book.tsProvenNs, nowNs) : null,
      quoteAsset: market.instrument.quoteAsset,
      reason: fresh ? null : "BOOK_INVALID",
    });
  }
  return {
    symbol,
    bids: mergeSide(included, "bids", depth),
    asks: mergeSide(included, "asks", depth),
    venues,
    quoteNote: QUOTE_NOTE,
  };
}

/** Each venue's best `depth` levels hold the best `depth` of the merged side, so more are not read. */
function mergeSide(
  included: readonly Included[],
  side: SideName,
  depth: number,
): ConsolidatedBookReply["data"]["bids"] {
  if (included.length === 0) return [];
  const priceDecimals = Math.max(...included.map((one) => canonicalPriceDecimals(one.market.instrument)));
  const qtyDecimals = Math.max(...included.map((one) => canonicalQtyDecimals(one.market.instrument)));
  const merged = new Map<bigint, { exchange: RoutableVenue; qty: bigint }[]>();
  for (const { exchange, market, useDeep } of included) {
    const priceShift = 10n ** BigInt(priceDecimals - canonicalPriceDecimals(market.instrument));
    const qtyShift = 10n ** BigInt(qtyDecimals - canonicalQtyDecimals(market.instrument));
    const levels = readLevels(market, side, depth, useDeep);
    for (let index = 0; index < levels.length; index += 2) {
      const price = BigInt(levels[index] as number) * priceShift;
      const entry = { exchange, qty: BigInt(levels[index + 1] as number) * qtyShift };
      const known = merged.get(price);
      if (known === undefined) merged.set(price, [entry]);
      else known.push(entry);
    }
  }
  const prices = [...merged.keys()].sort((a, b) => (a === b ? 0 : a < b === (side === "asks") ? -1 : 1));
  return prices.slice(0, depth).map((price) => {
    const entries = merged.get(price) ?? [];
    return {
      price: formatScaledBig(price, priceDecimals),
      size: formatScaledBig(
        entries.reduce((sum, entry) => sum + entry.qty, 0n),
        qtyDecimals,
      ),
      venues: entries.map((entry) => ({ exchange: entry.exchange, size: formatScaledBig(entry.qty, qtyDecimals) })),
    };
  });
}

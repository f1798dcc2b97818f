/**
 * Books as replies: one venue's depth (touch overlay and deep tier merged as the router walks them), and the
 * consolidated depth of all venues whose book is live and fresh. Decimal text in canonical quoting, exact.
 */
import { formatScaled, formatScaledBig } from "../engine/domain/decimal.js";
import { canonicalPriceDecimals, canonicalQtyDecimals, type Instrument } from "../engine/domain/instrument.js";
import { ROUTABLE_VENUES, type RoutableVenue } from "../engine/domain/venue.js";
import { type Book, BOOK_LIVE } from "../engine/market/book.js";
import { ageMs } from "../engine/market/freshness.js";
import type { Market } from "../engine/market/market.js";
import { isTouchNewer } from "../engine/market/touch.js";
import type { ConsolidatedBookReply, VenueBookReply } from "../schemas/book.js";
import { bookStateWord, isBookFresh, type MarketView } from "./market-view.js";

type SideName = "bids" | "asks";

interface Level {
  readonly ticks: number;
  readonly lots: number;
}

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
    bids: levelsOf(market, "bids", depth, useDeep).map((level) => levelText(instrument, level)),
    asks: levelsOf(market, "asks", depth, useDeep).map((level) => levelText(instrument, level)),
    bidLevels: shown.bidCount,
    askLevels: shown.askCount,
    tier: useDeep ? "deep" : "main",
    venueSeq: book.seq > 0 ? String(book.seq) : null,
    venueTimestamp: book.tsVenueMs > 0 ? book.tsVenueMs : null,
    ageMs: ageMs(shown.tsProvenNs, nowNs),
    quoteAsset: instrument.quoteAsset,
  };
}

/** The main tier is the fresher one; the deep tier is read only beyond it, and only while fresh itself. */
function needsDeep(market: Market, depth: number, nowNs: number): boolean {
  const { book, deep } = market;
  if (deep === null || deep.state !== BOOK_LIVE || book.state !== BOOK_LIVE) return false;
  if (ageMs(deep.tsProvenNs, nowNs) > market.maxDeepAgeMs) return false;
  return depth > Math.min(book.bidCount, book.askCount);
}

/** Best first. Nothing unless the main book is LIVE. */
function levelsOf(market: Market, side: SideName, depth: number, useDeep: boolean): Level[] {
  const { book, deep } = market;
  if (book.state !== BOOK_LIVE) return [];
  const levels: Level[] = [];
  if (isTouchNewer(market.touch, book)) {
    const { touch } = market;
    const lots = side === "bids" ? touch.bidLots : touch.askLots;
    // An empty side of the newer touch: nobody quotes there any more.
    if (lots === 0) return [];
    levels.push({ ticks: side === "bids" ? touch.bidTicks : touch.askTicks, lots });
  }
  appendBeyond(levels, book, side, depth);
  if (useDeep && deep !== null) appendBeyond(levels, deep, side, depth);
  return levels;
}

/** Levels worse than the last one taken. */
function appendBeyond(levels: Level[], book: Book, side: SideName, depth: number): void {
  const count = side === "bids" ? book.bidCount : book.askCount;
  const last = levels.at(-1);
  const edge = last === undefined ? null : last.ticks;
  for (let index = 0; index < count && levels.length < depth; index++) {
    const ticks = side === "bids" ? book.bidTicks(index) : book.askTicks(index);
    if (edge !== null && (side === "bids" ? ticks >= edge : ticks <= edge)) continue;
    levels.push({ ticks, lots: side === "bids" ? book.bidLots(index) : book.askLots(index) });
  }
}

function levelText(instrument: Instrument, level: Level): [string, string] {
  return [
    formatScaled(level.ticks, canonicalPriceDecimals(instrument)),
    formatScaled(level.lots, canonicalQtyDecimals(instrument)),
  ];
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

/** Each venue's best `depth` levels hold the best `depth` of the merged side, so no more is read. */
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
    for (const level of levelsOf(market, side, depth, useDeep)) {
      const price = BigInt(level.ticks) * priceShift;
      const entry = { exchange, qty: BigInt(level.lots) * qtyShift };
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

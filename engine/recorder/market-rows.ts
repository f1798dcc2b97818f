// hot path
/**
 * Ring rows as RowBinary: ticks, trades, book snapshots. Prices and sizes become canonical decimals here, exactly.
 *
 * Invariant: the bytes equal what row-codec.ts writes for the same values. Columns are in the schema's order.
 */
import { canonicalPriceDecimals, canonicalQtyDecimals } from "../domain/instrument.js";
import type { Market } from "../market/market.js";
import type { Batcher } from "./batcher.js";
import { encodedText } from "./row-binary.js";
import { REASON_GAP, REASON_PERIODIC, type SnapshotRing } from "./snapshot-ring.js";
import { SOURCE_BOOK, SOURCE_TOUCH, type TickRing } from "./tick-ring.js";
import type { TradeRing } from "./trade-ring.js";
import type { WallAnchor } from "./wall-anchor.js";

/** Scales of the schema's Decimal(38, 18) and Decimal(38, 8). */
const PRICE_SCALE = 18;
const QTY_SCALE = 8;
const DAY_MS = 86_400_000;
const DAY_US = DAY_MS * 1000;
/** Upper bound on the fixed parts of a row; the market's names are added. */
const FIXED_BYTES = 200;
const LEVEL_BYTES = 2 * (16 + 16);

const SRC_BOOK = encodedText("book");
const SRC_TOUCH = encodedText("touch");
const SRC_TICKER = encodedText("ticker");
const WHY_PERIODIC = encodedText("periodic");
const WHY_GAP = encodedText("gap");
const WHY_PRE_ROUTE = encodedText("pre-route");

/** Mark and last price are the same for many ticks: each text is parsed once. */
class PriceTextCache {
  text = "";
  /** The not-null byte, and the figure. */
  readonly encoded = Buffer.alloc(17);
}

/** The part of a row that is the same for all rows of a market. */
export class MarketRowHead {
  readonly venue: string;
  readonly symbol: string;
  /** venue and symbol as RowBinary. */
  readonly names: Buffer;
  readonly priceDecimals: number;
  readonly qtyDecimals: number;
  readonly multiplierExp10: number;
  readonly mark = new PriceTextCache();
  readonly last = new PriceTextCache();
  /** Receive time of the market's first trades; -1 before. */
  firstTradeNs = -1;

  constructor(market: Market) {
    const { instrument } = market;
    this.venue = instrument.venue;
    this.symbol = instrument.symbol;
    this.names = Buffer.concat([encodedText(instrument.venue), encodedText(instrument.symbol)]);
    this.priceDecimals = canonicalPriceDecimals(instrument);
    this.qtyDecimals = canonicalQtyDecimals(instrument);
    this.multiplierExp10 = instrument.multiplierExp10;
  }
}

/** Encodes up to `max` ticks; returns how many did not fit their columns. */
export function drainTicks(
  ring: TickRing,
  heads: readonly MarketRowHead[],
  wall: WallAnchor,
  batcher: Batcher,
  max: number,
): number {
  const until = Math.min(ring.head, ring.tail + max);
  let bad = 0;
  for (; ring.tail < until; ring.tail++) {
    const at = ring.tail & ring.mask;
    const head = heads[ring.market[at] as number] as MarketRowHead;
    const rxUs = wall.toUs(ring.rxNs[at] as number);
    const writer = batcher.writerFor(Math.floor(rxUs / DAY_US));
    const start = writer.at;
    writer.reserve(FIXED_BYTES + head.names.length);
    writer.i64(rxUs);
    writer.i64(ring.exMs[at] as number);
    writer.raw(head.names);
    writer.decimal128(ring.bidLots[at] as number, head.qtyDecimals, QTY_SCALE);
    writer.decimal128(ring.askLots[at] as number, head.qtyDecimals, QTY_SCALE);
    writer.u64(ring.seq[at] as number);
    const source = ring.source[at];
    writer.raw(source === SOURCE_BOOK ? SRC_BOOK : source === SOURCE_TOUCH ? SRC_TOUCH : SRC_TICKER);
    writer.decimal128(ring.bidTicks[at] as number, head.priceDecimals, PRICE_SCALE);
    writer.decimal128(ring.askTicks[at] as number, head.priceDecimals, PRICE_SCALE);
    writeNullablePrice(writer, ring.mark[at] as string, head, head.mark);
    writeNullablePrice(writer, ring.last[at] as string, head, head.last);
    if (writer.bad) {
      writer.rewind(start);
      bad += 1;
    } else batcher.added();
  }
  return bad;
}

/** Removes trades from a drain. */
export interface TradeSieve {
  /** Returns true for a trade that must not be encoded. */
  takes(ring: TradeRing, at: number): boolean;
}

/** Like drainTicks. A trade without a plausible venue time gets the receive time, because the time is its partition. */
export function drainTrades(
  ring: TradeRing,
  heads: readonly MarketRowHead[],
  wall: WallAnchor,
  batcher: Batcher,
  max: number,
  sieve: TradeSieve | null = null,
): number {
  const until = Math.min(ring.head, ring.tail + max);
  let bad = 0;
  for (; ring.tail < until; ring.tail++) {
    const at = ring.tail & ring.mask;
    if (sieve?.takes(ring, at) === true) continue;
    const head = heads[ring.market[at] as number] as MarketRowHead;
    const rxUs = wall.toUs(ring.rxNs[at] as number);
    const rxMs = Math.floor(rxUs / 1000);
    const venueMs = ring.exMs[at] as number;
    const exMs = venueMs > 0 && venueMs < rxMs + DAY_MS ? venueMs : rxMs;
    const writer = batcher.writerFor(Math.floor(exMs / DAY_MS));
    const start = writer.at;
    writer.reserve(FIXED_BYTES + head.names.length);
    writer.i64(rxUs);
    writer.i64(exMs);
    writer.raw(head.names);
    const idNumber = ring.idNumber[at] as number;
    // Numbers become text here, not where they are received.
    writer.text(idNumber >= 0 ? String(idNumber) : (ring.idText[at] as string));
    writer.reserve(FIXED_BYTES);
    writer.decimal128(ring.qtyLots[at] as number, head.qtyDecimals, QTY_SCALE);
    writer.u8(ring.side[at] as number);
    writer.u64(ring.seq[at] as number);
    writer.decimal128(ring.priceTicks[at] as number, head.priceDecimals, PRICE_SCALE);
    if (writer.bad) {
      writer.rewind(start);
      bad += 1;
    } else batcher.added();
  }
  return bad;
}

/** Like drainTicks. */
export function drainSnapshots(
  ring: SnapshotRing,
  heads: readonly MarketRowHead[],
  wall: WallAnchor,
  batcher: Batcher,
  max: number,
): number {
  const until = Math.min(ring.head, ring.tail + max);
  let bad = 0;
  for (; ring.tail < until; ring.tail++) {
    const at = ring.tail & ring.mask;
    const head = heads[ring.market[at] as number] as MarketRowHead;
    const rxUs = wall.toUs(ring.rxNs[at] as number);
    const writer = batcher.writerFor(Math.floor(rxUs / DAY_US));
    const start = writer.at;
    const bids = ring.bidCount[at] as number;
    const asks = ring.askCount[at] as number;
    writer.reserve(FIXED_BYTES + head.names.length + (bids + asks) * LEVEL_BYTES);
    writer.i64(rxUs);
    writer.i64(ring.exMs[at] as number);
    writer.raw(head.names);
    writer.u64(ring.seq[at] as number);
    const base = at * ring.depth;
    writeSizes(writer, ring.bidLots, base, bids, head.qtyDecimals);
    writeSizes(writer, ring.askLots, base, asks, head.qtyDecimals);
    const reason = ring.reason[at];
    writer.raw(reason === REASON_PERIODIC ? WHY_PERIODIC : reason === REASON_GAP ? WHY_GAP : WHY_PRE_ROUTE);
    writePrices(writer, ring.bidTicks, base, bids, head.priceDecimals);
    writePrices(writer, ring.askTicks, base, asks, head.priceDecimals);
    if (writer.bad) {
      writer.rewind(start);
      bad += 1;
    } else batcher.added();
  }
  return bad;
}

type Writer = ReturnType<Batcher["writerFor"]>;

/** Writes a native text as a canonical figure; null while unknown, and for text that is no plain decimal. */
function writeNullablePrice(writer: Writer, text: string, head: MarketRowHead, cache: PriceTextCache): void {
  if (text === "" || writer.bad) {
    writer.u8(1);
    return;
  }
  if (text === cache.text) {
    writer.raw(cache.encoded);
    return;
  }
  const start = writer.at;
  writer.u8(0);
  writer.decimal128Text(text, PRICE_SCALE, head.multiplierExp10);
  if (writer.bad) {
    // Everything before it was valid: only this figure is left out.
    writer.rewind(start);
    writer.u8(1);
    return;
  }
  cache.text = text;
  writer.copySince(start, cache.encoded);
}

function writePrices(writer: Writer, ticks: Float64Array, base: number, count: number, decimals: number): void {
  writer.varint(count);
  for (let level = 0; level < count; level++) writer.decimal128(ticks[base + level] as number, decimals, PRICE_SCALE);
}

function writeSizes(writer: Writer, lots: Float64Array, base: number, count: number, decimals: number): void {
  writer.varint(count);
  for (let level = 0; level < count; level++) writer.decimal128(lots[base + level] as number, decimals, QTY_SCALE);
}

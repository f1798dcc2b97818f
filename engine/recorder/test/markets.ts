/** Instruments and markets for the recorder's tests. */
import type { Instrument } from "../../domain/instrument.js";
import { createMarket, type Market } from "../../market/market.js";
import { anInstrument } from "../../domain/test/instruments.js";

export function testMarket(overrides: Partial<Instrument> = {}): Market {
  return createMarket(anInstrument(overrides), { deepTier: false, maxBookAgeMs: 5_000, maxDeepAgeMs: 0 });
}

/** Replaces the whole book. Levels in ticks and lots, best first. */
export function setBook(
  market: Market,
  bids: readonly (readonly [number, number])[],
  asks: readonly (readonly [number, number])[],
  stamp: { readonly seq?: number; readonly exMs?: number; readonly rxNs: number },
): void {
  market.book.beginSnapshot();
  for (const [price, qty] of bids) market.book.applyBid(price, qty);
  for (const [price, qty] of asks) market.book.applyAsk(price, qty);
  market.book.commit(stamp.seq ?? 0, stamp.exMs ?? 0, stamp.rxNs);
}

/** Instruments and markets for the recorder's tests. */
import type { Instrument } from "../../domain/instrument.js";
import { createMarket, type Market } from "../../market/market.js";

export function testInstrument(overrides: Partial<Instrument> = {}): Instrument {
  return {
    venue: "venueone",
    symbol: "BTC",
    nativeSymbol: "BTC",
    nativeId: 0,
    multiplierExp10: 0,
    priceDecimals: 1,
    qtyDecimals: 3,
    priceRule: "step",
    priceStepTicks: 1,
    qtyStepLots: 1,
    minQtyLots: 1,
    maxQtyLots: Number.MAX_SAFE_INTEGER,
    minNotional: "0",
    minNotionalOnReduceOnly: "no",
    bandUpPpm: 0,
    bandDownPpm: 0,
    quoteAsset: "USDC",
    takerFeeMilliBps: 4500,
    makerFeeMilliBps: 1500,
    maxLeverage: 50,
    status: "TRADING",
    ...overrides,
  };
}

export function testMarket(overrides: Partial<Instrument> = {}): Market {
  return createMarket(testInstrument(overrides), { deepTier: false, maxBookAgeMs: 5_000, maxDeepAgeMs: 0 });
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

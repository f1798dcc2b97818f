import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Instrument } from "../domain/instrument.js";
import type { VenuePosition } from "../domain/position.js";
import { createMarket, type Market } from "../market/market.js";
import { liveMark, positionFigures } from "./pnl.js";
import { anInstrument } from "../domain/test/instruments.js";

const BTC = anInstrument();
/** A contract of 1000 units: lots count thousands of the base asset. */
const PEPE: Instrument = {
  ...BTC,
  symbol: "PEPE",
  nativeSymbol: "kPEPE",
  multiplierExp10: 3,
  priceDecimals: 6,
  qtyDecimals: 0,
};

function held(changes: Partial<VenuePosition> = {}): VenuePosition {
  return {
    venue: "venueone",
    symbol: "BTC",
    nativeSymbol: "BTC",
    direction: "LONG",
    positionSide: "BOTH",
    qtyLots: 400,
    entryPrice: "95110.2",
    markPrice: null,
    liquidationPrice: null,
    unrealizedPnl: null,
    leverage: 5,
    marginMode: "cross",
    collateral: null,
    tsVenueMs: 1_790_000_000_000,
    ...changes,
  };
}

describe("figures of a position", () => {
  it("are the worked example of the stream design, to the last digit", () => {
    expect(positionFigures(held(), BTC, "97420.45", "venueFirst")).toEqual({
      size: "0.4",
      markPrice: "97420.45",
      markSource: "live",
      unrealizedPnl: "924.1",
      unrealizedPnlPercent: "12.1451",
      leverage: 5,
      collateral: "7608.816",
      margin: "7793.636",
      notional: "38968.18",
    });
  });

  it("keep what the venue said, unless our own feed is to be preferred", () => {
    const position = held({ markPrice: "97000", unrealizedPnl: "755.92", collateral: "7600" });
    expect(positionFigures(position, BTC, "97420.45", "venueFirst")).toMatchObject({
      markPrice: "97000",
      markSource: "venue",
      unrealizedPnl: "755.92",
      collateral: "7600",
    });
    expect(positionFigures(position, BTC, "97420.45", "liveFirst")).toMatchObject({
      markPrice: "97420.45",
      markSource: "live",
      unrealizedPnl: "924.1",
      collateral: "7600",
    });
    expect(positionFigures(position, BTC, null, "liveFirst")).toMatchObject({
      markPrice: "97000",
      unrealizedPnl: "755.92",
    });
  });

  it("invent nothing: no mark, no profit; no leverage and no collateral, no margin", () => {
    expect(positionFigures(held({ leverage: null }), BTC, null, "liveFirst")).toEqual({
      size: "0.4",
      markPrice: null,
      markSource: null,
      unrealizedPnl: null,
      unrealizedPnlPercent: null,
      leverage: null,
      collateral: null,
      margin: null,
      notional: null,
    });
  });

  it("derive the leverage from the collateral where only that is reported", () => {
    const figures = positionFigures(held({ leverage: null, collateral: "3804.408" }), BTC, "95110.2", "liveFirst");
    expect(figures).toMatchObject({ leverage: 10, unrealizedPnl: "0", unrealizedPnlPercent: "0" });
  });

  it("count thousands where a lot is a thousand units", () => {
    const position = held({ symbol: "PEPE", qtyLots: 12, entryPrice: "0.00001", leverage: 3 });
    expect(positionFigures(position, PEPE, "0.000012345", "liveFirst")).toMatchObject({
      size: "12000",
      unrealizedPnl: "0.02814",
      notional: "0.14814",
      collateral: "0.04",
    });
  });

  it("mirror for a short, and agree with integers scaled by hand, for any sizes and prices", () => {
    const price = fc.integer({ min: 1, max: 5_000_000_000 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 40 }), price, price, fc.boolean(), (qtyLots, entry, mark, isLong) => {
        const position = held({
          qtyLots,
          direction: isLong ? "LONG" : "SHORT",
          entryPrice: ticksText(entry),
        });
        const figures = positionFigures(position, BTC, ticksText(mark), "liveFirst");
        // Ten-thousandths of the quote unit: one decimal of the price, three of the size.
        const difference = BigInt(mark - entry) * BigInt(qtyLots) * (isLong ? 1n : -1n);
        expect(asTenThousandths(figures.unrealizedPnl)).toBe(difference);
        expect(asTenThousandths(figures.notional)).toBe(BigInt(mark) * BigInt(qtyLots));
      }),
      { numRuns: 500, seed: 20_261_121 },
    );
  });
});

function ticksText(ticks: number): string {
  return `${Math.floor(ticks / 10)}.${ticks % 10}`;
}

function asTenThousandths(text: string | null): bigint {
  const [, sign = "", whole = "0", fraction = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text ?? "") ?? [];
  return BigInt(`${sign}${whole}${fraction.padEnd(4, "0")}`);
}

describe("the live mark", () => {
  const SECOND_NS = 1e9;

  function market(): Market {
    return createMarket(BTC, { deepTier: false, maxBookAgeMs: 2_000, maxDeepAgeMs: 0 });
  }

  function quote(target: Market, nowNs: number): void {
    target.book.beginSnapshot();
    target.book.applyBid(974_170, 10);
    target.book.applyAsk(974_181, 10);
    target.book.commit(1, 1_790_000_000_000, nowNs);
  }

  it("is the venue's mark while its ticker is current, else the middle of a LIVE book, else nothing", () => {
    const btc = market();
    expect(liveMark(btc, SECOND_NS)).toBeNull();
    quote(btc, SECOND_NS);
    expect(liveMark(btc, SECOND_NS)).toEqual({ price: "97417.55", ageMs: 0 });
    btc.ticker.markPrice = "97420.4";
    btc.ticker.stamp(1_790_000_000_000, SECOND_NS);
    expect(liveMark(btc, SECOND_NS + 5e6)).toEqual({ price: "97420.4", ageMs: 5 });
    quote(btc, 20 * SECOND_NS);
    expect(liveMark(btc, 20 * SECOND_NS)).toEqual({ price: "97417.55", ageMs: 0 });
    expect(liveMark(btc, 30 * SECOND_NS)).toBeNull();
    btc.book.invalidate("SEQUENCE_GAP");
    expect(liveMark(btc, 20 * SECOND_NS)).toBeNull();
  });
});

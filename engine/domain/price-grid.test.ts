import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Instrument } from "./instrument.js";
import { ceilPrice, floorPrice, floorQty, protectPrice } from "./price-grid.js";
import { isPriceOnGrid } from "./test/price-on-grid.js";
import { anInstrument } from "./test/instruments.js";

function instrument(fields: Partial<Instrument>): Instrument {
  return anInstrument({ priceRule: "sigfigs5", qtyDecimals: 5, ...fields });
}

/** The rule as the venue states it, on the digits of the text. */
function isLegalText(ticks: bigint, decimals: number): boolean {
  const digits = String(ticks).padStart(decimals + 1, "0");
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "");
  if (fraction === "") return true;
  return `${whole}${fraction}`.replace(/^0+/, "").length <= 5;
}

describe("the price grid", () => {
  it.each([
    // 97421.5 × 0.99 = 96447.285: five figures leave whole units
    ["SELL", 1, 964473, 964480],
    ["BUY", 1, 964473, 964470],
    ["SELL", 1, 999996, 1_000_000],
    ["SELL", 4, 1_234_567, 1_234_600],
    ["BUY", 6, 123_456, 123_450],
    ["BUY", 6, 12_345, 12_345],
    ["SELL", 0, 123_456, 123_456],
    ["BUY", 1, 12_345_670, 12_345_670],
  ] as const)(
    "rounds a %s price with %i decimals from %i to %i ticks under five significant figures",
    (side, priceDecimals, ticks, expected) => {
      expect(protectPrice(instrument({ priceDecimals }), side, ticks)).toBe(expected);
    },
  );

  it("finds the nearest legal price on each side under five significant figures", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 6 }),
        fc.integer({ min: 1, max: 10 }),
        fc.integer({ min: 1, max: 2 ** 31 }),
        (priceDecimals, length, raw) => {
          const ticks = (raw % 10 ** length) + 1;
          const venue = instrument({ priceDecimals });
          let below = BigInt(ticks);
          while (below > 0n && !isLegalText(below, priceDecimals)) below--;
          // Steps above are at most one unit, so the search is short when it starts from the same unit.
          const unit = 10n ** BigInt(priceDecimals);
          let above = BigInt(ticks);
          const limit = (above / unit + 1n) * unit;
          while (above < limit && !isLegalText(above, priceDecimals)) above++;
          expect(BigInt(floorPrice(venue, ticks))).toBe(below);
          expect(BigInt(ceilPrice(venue, ticks))).toBe(above);
          expect(isPriceOnGrid(venue, ticks)).toBe(isLegalText(BigInt(ticks), priceDecimals));
        },
      ),
      { numRuns: 300, seed: 21 },
    );
  });

  it("rounds to multiples of the step toward protection on each side, and rounding twice changes nothing", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 5000 }),
        fc.integer({ min: 1, max: 2 ** 40 }),
        fc.constantFrom("SELL" as const, "BUY" as const),
        (priceStepTicks, ticks, side) => {
          const venue = instrument({ priceRule: "step", priceStepTicks });
          const rounded = protectPrice(venue, side, ticks);
          const step = BigInt(priceStepTicks);
          const expected = side === "BUY" ? (BigInt(ticks) / step) * step : ((BigInt(ticks) + step - 1n) / step) * step;
          expect(BigInt(rounded)).toBe(expected);
          if (rounded > 0) expect(protectPrice(venue, side, rounded)).toBe(rounded);
        },
      ),
      { seed: 22 },
    );
  });

  it("returns no price where none protects, and no number beyond the safe range", () => {
    const venue = instrument({ priceRule: "step", priceStepTicks: 10 });
    expect([floorPrice(venue, 9), floorPrice(venue, Number.NaN), floorPrice(venue, 0)]).toEqual([0, 0, 0]);
    expect(ceilPrice(venue, Number.MAX_SAFE_INTEGER)).toBeNaN();
    expect(isPriceOnGrid(venue, 0)).toBe(false);
  });

  it("rounds sizes down to the step", () => {
    const venue = instrument({ qtyStepLots: 25 });
    expect([
      floorQty(venue, 74),
      floorQty(venue, 75),
      floorQty(venue, 24),
      floorQty(venue, 0),
      floorQty(venue, Number.NaN),
    ]).toEqual([50, 75, 0, 0, 0]);
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { compareDecimals, formatScaled } from "../../../engine/domain/decimal.js";
import { floatToInt, floatToWire, formatPrice, formatSize, isValidPrice, roundPrice } from "./wire-number.js";

const szDecimals = fc.integer({ min: 0, max: 6 });
const prices = fc
  .record({ value: fc.integer({ min: 1, max: 10_000_000_000 }), decimals: fc.integer({ min: 0, max: 9 }) })
  .map(({ value, decimals }) => formatScaled(value, decimals));

describe("number texts of the wire", () => {
  it.each([
    ["123456", true],
    ["123456.0", true],
    ["12345.6", false],
    ["99999", true],
    ["0.000001", true],
    ["0.0000001", false],
    ["0", false],
    ["-1", true],
    ["1e5", false],
    ["", false],
    ["NaN", false],
  ])("says of the price %s at szDecimals 0: valid %s", (price, isValid) => {
    expect(isValidPrice(price, 0, "perp")).toBe(isValid);
  });

  it("rounds up into one more digit and stays valid", () => {
    expect(roundPrice("99999.7", 0, "perp")).toBe("100000");
    expect(roundPrice("0.99999951", 0, "perp")).toBe("1");
  });

  it("refuses to round where the rule is not to", () => {
    expect(floatToWire("0.123456789")).toBeNull();
    expect(floatToWire("0.123456780")).toBe("0.12345678");
    expect(floatToWire("1e3")).toBeNull();
    expect(floatToInt("1.0000001", 6)).toBeNull();
    expect(floatToInt("-1.5", 6)).toBe(-1_500_000n);
  });

  it("makes any positive price valid, moves it toward zero only, and leaves valid ones as they are", () => {
    fc.assert(
      fc.property(prices, szDecimals, (price, decimals) => {
        const formatted = formatPrice(price, decimals, "perp");
        if (formatted === null) return;
        expect(isValidPrice(formatted, decimals, "perp")).toBe(true);
        expect(compareDecimals(formatted, price)).toBeLessThanOrEqual(0);
        expect(formatPrice(formatted, decimals, "perp")).toBe(formatted);
        expect(formatted).not.toMatch(/\.$|\.\d*0$|^-?0\d/);
        const significant = formatted.replace(/^0?\.?0*/, "").replace(".", "");
        expect(significant.length <= 5 || !formatted.includes(".")).toBe(true);
      }),
      { numRuns: 500, seed: 41 },
    );
  });

  it("cuts any size to szDecimals places, never up", () => {
    fc.assert(
      fc.property(prices, szDecimals, (size, decimals) => {
        const formatted = formatSize(size, decimals);
        if (formatted === null) return;
        expect((formatted.split(".")[1] ?? "").length).toBeLessThanOrEqual(decimals);
        expect(compareDecimals(formatted, size)).toBeLessThanOrEqual(0);
      }),
      { numRuns: 300, seed: 42 },
    );
  });
});

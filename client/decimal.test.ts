import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addDecimal,
  compareDecimal,
  comparePriceText,
  type Decimal,
  divideDecimal,
  isDecimalText,
  isZeroText,
  multiplyDecimal,
  parseDecimal,
  printDecimal,
  roundDecimal,
} from "./decimal.js";

const decimals = fc.record({ units: fc.bigInt({ min: -(10n ** 24n), max: 10n ** 24n }), places: fc.nat({ max: 12 }) });
const of = (text: string): Decimal => {
  const value = parseDecimal(text);
  if (value === null) throw new Error(`not a decimal: ${text}`);
  return value;
};

describe("decimal texts", () => {
  it("are unchanged by parsing and printing, except for trailing zeros", () => {
    fc.assert(fc.property(decimals, (value) => compareDecimal(of(printDecimal(value)), value) === 0));
    expect(printDecimal(of("97421.50"))).toBe("97421.5");
    expect(printDecimal(of("-0.0"))).toBe("0");
    expect(printDecimal(of("0.00000001"))).toBe("0.00000001");
  });

  it.each(["", " 1", "1 ", "+1", "1e3", "1.", ".5", "01", "1,0", "NaN", "Infinity", "--1", `1${"0".repeat(64)}`])(
    "do not include %j",
    (text) => {
      expect(parseDecimal(text)).toBeNull();
      expect(isDecimalText(text)).toBe(false);
    },
  );

  it("do not include values that are no text", () => {
    for (const value of [null, undefined, 1, {}, ["1"]]) expect(parseDecimal(value)).toBeNull();
  });

  it("are zero in every spelling of zero", () => {
    for (const text of ["0", "0.0", "-0", "0.000"]) expect(isZeroText(text)).toBe(true);
    for (const text of ["0.001", "1", "10"]) expect(isZeroText(text)).toBe(false);
  });
});

describe("decimal arithmetic", () => {
  it("adds and multiplies like integers", () => {
    expect(printDecimal(addDecimal(of("0.1"), of("0.2")))).toBe("0.3");
    expect(printDecimal(multiplyDecimal(of("0.0001"), of("8760")))).toBe("0.876");
    fc.assert(
      fc.property(decimals, decimals, (a, b) => {
        const places = Math.max(a.places, b.places);
        const at = (one: Decimal) => one.units * 10n ** BigInt(places - one.places);
        return compareDecimal(addDecimal(a, b), { units: at(a) + at(b), places }) === 0;
      }),
    );
  });

  it("divides to the nearest, a tie away from zero", () => {
    const divide = (a: string, b: string, places: number) => {
      const result = divideDecimal(of(a), of(b), places);
      return result === null ? null : printDecimal(result);
    };
    expect(divide("0.0001", "8", 10)).toBe("0.0000125");
    expect(divide("1", "3", 4)).toBe("0.3333");
    expect(divide("1", "2", 0)).toBe("1");
    expect(divide("-1", "2", 0)).toBe("-1");
    expect(divide("1", "0.00", 4)).toBeNull();
  });

  it("rounds to the nearest, never by more than half a step", () => {
    fc.assert(
      fc.property(decimals, fc.nat({ max: 6 }), (value, places) => {
        const rounded = roundDecimal(value, places);
        const error = addDecimal(rounded, { units: -value.units, places: value.places });
        const half = { units: 5n, places: places + 1 };
        return (
          compareDecimal({ units: error.units < 0n ? -error.units : error.units, places: error.places }, half) <= 0
        );
      }),
    );
  });
});

describe("the comparison of price texts", () => {
  it("gives the order of their values", () => {
    const prices = fc
      .record({ units: fc.bigInt({ min: 0n, max: 10n ** 15n }), places: fc.nat({ max: 6 }) })
      .map((value) => {
        const digits = value.units.toString().padStart(value.places + 1, "0");
        // Trailing zeros are kept: both spellings of a price must compare as equal.
        return value.places === 0 ? digits : `${digits.slice(0, -value.places)}.${digits.slice(-value.places)}`;
      });
    fc.assert(fc.property(prices, prices, (a, b) => comparePriceText(a, b) === compareDecimal(of(a), of(b))));
    expect(comparePriceText("97418.0", "97418")).toBe(0);
    expect(comparePriceText("9.9", "10")).toBe(-1);
    expect(comparePriceText("0.00071", "0.0007")).toBe(1);
  });
});

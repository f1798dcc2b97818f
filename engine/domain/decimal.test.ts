import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  assertSafeRange,
  compareDecimals,
  decimalPlaces,
  divideBig,
  formatScaled,
  formatScaledBig,
  isPlainDecimal,
  MAX_DECIMAL_CHARS,
  multiplyDivide,
  parseScaled,
  parseScaledBig,
  parseScaledRounded,
  parseScaledStrict,
  plainFromVenueNumber,
  type Rounding,
  rescale,
} from "./decimal.js";
import {
  addRatio,
  compareRatio,
  formatRatio,
  magnitude,
  ratio,
  ratioFromScaled,
  ratioFromText,
} from "./decimal-ratio.js";

const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);
const safeInteger = fc.maxSafeInteger();
const decimals = fc.integer({ min: -6, max: 12 });

/** Independent of the module: pads to 100 places and works on the digit string. */
function referenceScaled(text: string, places: number, rounding: "exact" | "floor" | "ceil"): bigint | null {
  const negative = text.startsWith("-");
  const [whole = "", fraction = ""] = text.replace("-", "").split(".");
  const e100 = BigInt(whole + fraction.padEnd(100, "0")) * (negative ? -1n : 1n);
  const unit = 10n ** BigInt(100 - places);
  let floor = e100 / unit;
  if (e100 % unit !== 0n && negative) floor -= 1n;
  const exact = floor * unit === e100;
  if (rounding === "exact" && !exact) return null;
  const value = rounding === "ceil" && !exact ? floor + 1n : floor;
  return value > MAX_SAFE || value < -MAX_SAFE ? null : value;
}

const plainText = fc
  .tuple(fc.boolean(), fc.stringMatching(/^\d{1,18}$/), fc.option(fc.stringMatching(/^\d{1,14}$/), { nil: null }))
  .map(([negative, whole, fraction]) => `${negative ? "-" : ""}${whole}${fraction === null ? "" : `.${fraction}`}`);

describe("the parser of decimal text", () => {
  it.each([
    ["0", 0, 0],
    ["-0", 3, 0],
    ["0.25", 3, 250],
    ["0.250000", 2, 25],
    ["84143.0", 0, 84143],
    ["12000", -3, 12],
    ["12000.000", -3, 12],
    ["0", -3, 0],
    ["-1.5", 1, -15],
    ["9007199254740991", 0, Number.MAX_SAFE_INTEGER],
    ["0.0000000000000001", 16, 1],
    ["00012.5", 1, 125],
  ])("reads %s with %i decimals as %i", (text, places, value) => {
    expect(parseScaled(text, places)).toBe(value);
  });

  it.each([
    "NaN",
    "Infinity",
    "-Infinity",
    "",
    "+1",
    "1.",
    ".5",
    "-",
    "-.5",
    ".",
    "0x1",
    "1_000",
    " 1",
    "1 ",
    "1e5",
    "1,5",
    "1.2.3",
    "--1",
    "1-",
    "٣",
    "１",
    "1\u0000",
    "null",
    "0b1",
    "1n",
    "9".repeat(400),
    "0".repeat(400),
    `1.${"0".repeat(400)}`,
  ])("refuses %j", (text) => {
    expect(parseScaled(text, 8)).toBeNaN();
    expect(parseScaledRounded(text, 8, "floor")).toBeNaN();
    expect(parseScaledBig(text, 8)).toBeNull();
    expect(parseScaledStrict(text, 8)).toEqual({ ok: false, problem: "malformed" });
  });

  it("refuses digits finer than the scale and values beyond the safe range, and names which of the two it was", () => {
    expect(parseScaledStrict("0.001", 2)).toEqual({ ok: false, problem: "tooFine" });
    expect(parseScaledStrict("12500", -3)).toEqual({ ok: false, problem: "tooFine" });
    expect(parseScaledStrict("9007199254740992", 0)).toEqual({ ok: false, problem: "tooLarge" });
    expect(parseScaledStrict("9007199254740991", 1)).toEqual({ ok: false, problem: "tooLarge" });
    expect(parseScaledStrict("1", 22)).toEqual({ ok: false, problem: "tooLarge" });
    expect(parseScaledStrict("0.5", 1)).toEqual({ ok: true, value: 5 });
    expect(parseScaled("1", 400)).toBeNaN();
  });

  it("agrees with a digit-string reference for every text and scale", () => {
    fc.assert(
      fc.property(plainText, decimals, (text, places) => {
        const expected = referenceScaled(text, places, "exact");
        const actual = parseScaled(text, places);
        expect(Number.isNaN(actual) ? null : BigInt(actual)).toBe(expected);
        expect(Object.is(actual, -0)).toBe(false);
        for (const rounding of ["floor", "ceil"] as const) {
          const rounded = parseScaledRounded(text, places, rounding);
          expect(Number.isNaN(rounded) ? null : BigInt(rounded)).toBe(referenceScaled(text, places, rounding));
        }
      }),
      { numRuns: 2000, seed: 1 },
    );
  });

  it("is the inverse of formatScaled and keeps the order of values", () => {
    fc.assert(
      fc.property(safeInteger, safeInteger, decimals, (left, right, places) => {
        const a = formatScaled(left, places);
        const b = formatScaled(right, places);
        expect(parseScaled(a, places)).toBe(left === 0 ? 0 : left);
        expect(isPlainDecimal(a)).toBe(true);
        expect(a).not.toMatch(/\.\d*0$|^-0$/);
        expect(compareDecimals(a, b)).toBe(Math.sign(left - right) || 0);
        expect(formatScaledBig(BigInt(left), places)).toBe(a);
        expect(parseScaledBig(a, places)).toBe(BigInt(left));
      }),
      { numRuns: 1000, seed: 2 },
    );
  });

  it("never throws on arbitrary text, and never accepts what the grammar refuses", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.string({ unit: fc.constantFrom(..."0123456789.-+eE_ ") })),
        decimals,
        (text, places) => {
          const legal = /^-?\d+(\.\d+)?$/.test(text) && text.length <= MAX_DECIMAL_CHARS;
          expect(isPlainDecimal(text)).toBe(legal);
          if (!legal) expect(parseScaled(text, places)).toBeNaN();
        },
      ),
      { numRuns: 2000, seed: 3 },
    );
  });
});

describe("the parser of venue numbers", () => {
  it.each([
    ["1e-05", "0.00001"],
    ["1.7E-4", "0.00017"],
    ["-2.50e3", "-2500"],
    ["1E+2", "100"],
    ["0e0", "0"],
    ["12.5", "12.5"],
  ])("turns %s into the plain text %s", (text, plain) => {
    expect(plainFromVenueNumber(text)).toBe(plain);
  });

  it.each(["e5", "1e", "1e5.5", "1e999", "1e-999", "NaN", "1e+-5", ".5e1", `1e${"0".repeat(80)}5`])(
    "refuses %s",
    (text) => {
      expect(plainFromVenueNumber(text)).toBeNull();
    },
  );

  it("accepts scientific notation only in the parser named for it", () => {
    expect(parseScaled("1.7E-4", 5)).toBeNaN();
    expect(parseScaled(plainFromVenueNumber("1.7E-4") ?? "", 5)).toBe(17);
  });
});

describe("decimal arithmetic", () => {
  it("divides in the stated direction", () => {
    const roundings: Rounding[] = ["floor", "ceil", "halfUp"];
    expect(roundings.map((rounding) => divideBig(7n, 2n, rounding))).toEqual([3n, 4n, 4n]);
    expect(roundings.map((rounding) => divideBig(-7n, 2n, rounding))).toEqual([-4n, -3n, -3n]);
    expect(roundings.map((rounding) => divideBig(7n, -2n, rounding))).toEqual([-4n, -3n, -3n]);
    expect(roundings.map((rounding) => divideBig(6n, 2n, rounding))).toEqual([3n, 3n, 3n]);
  });

  it("multiplies and divides exactly even where the product leaves the safe range", () => {
    const positive = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
    fc.assert(
      fc.property(
        positive,
        positive,
        fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        fc.constantFrom<Rounding>("floor", "ceil", "halfUp"),
        (a, b, c, rounding) => {
          const expected = divideBig(BigInt(a) * BigInt(b), BigInt(c), rounding);
          const actual = multiplyDivide(a, b, c, rounding);
          expect(Number.isNaN(actual) ? null : BigInt(actual)).toBe(expected > MAX_SAFE ? null : expected);
        },
      ),
      { numRuns: 2000, seed: 4 },
    );
  });

  it("rescales like exact division", () => {
    fc.assert(
      fc.property(
        safeInteger,
        decimals,
        decimals,
        fc.constantFrom("floor" as const, "ceil" as const),
        (value, from, to, rounding) => {
          const shift = to - from;
          const expected =
            shift >= 0
              ? BigInt(value) * 10n ** BigInt(shift)
              : divideBig(BigInt(value), 10n ** BigInt(-shift), rounding);
          const actual = rescale(value, from, to, rounding);
          expect(Number.isNaN(actual) ? null : BigInt(actual)).toBe(
            expected > MAX_SAFE || expected < -MAX_SAFE ? null : expected,
          );
          expect(Object.is(actual, -0)).toBe(false);
        },
      ),
      { numRuns: 2000, seed: 5 },
    );
  });

  it("counts decimal places without trailing zeros", () => {
    expect(["12", "0.250", "1.000", "0.001"].map(decimalPlaces)).toEqual([0, 2, 0, 3]);
  });

  it("refuses to load scales that leave the safe range", () => {
    expect(() => assertSafeRange("price", "10000000", 8)).not.toThrow();
    expect(() => assertSafeRange("price", "100000000", 8)).toThrow(/price: 100000000 with 8 decimals/);
    expect(() => assertSafeRange("price", "1", 23)).toThrow(/outside/);
    expect(() => assertSafeRange("qty", "x", 2)).toThrow(/plain decimal/);
  });
});

describe("an exact ratio", () => {
  it("is printed, added and compared exactly", () => {
    expect(formatRatio(ratio(1n, 3n), 4, "floor")).toBe("0.3333");
    expect(formatRatio(ratio(2n, 3n), 4, "halfUp")).toBe("0.6667");
    expect(formatRatio(addRatio(ratioFromText("0.1"), ratioFromText("0.2")), 6, "floor")).toBe("0.3");
    expect(compareRatio(ratio(1n, -3n), ratio(-1n, 4n))).toBe(-1);
    expect(formatRatio(ratioFromScaled(12, -3), 2, "floor")).toBe("12000");
    expect(() => ratio(1n, 0n)).toThrow(RangeError);
  });

  it.each([
    ["97357.3", 4],
    ["1", 0],
    ["9.99", 0],
    ["10", 1],
    ["0.1", -1],
    ["0.0000105", -5],
    ["0", 0],
    ["-250", 2],
  ])("has the right magnitude for %s", (text, expected) => {
    expect(magnitude(ratioFromText(text))).toBe(expected);
  });
});

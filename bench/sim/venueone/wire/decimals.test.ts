import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decimalCount,
  isPriceAligned,
  isSizeAligned,
  parseWireDecimalE8,
  replyTextScaled,
  wireText,
} from "./decimals.js";

describe("wire decimals", () => {
  it("print and parse are inverse", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 18n }), (value) => {
        expect(parseWireDecimalE8(wireText(value))).toBe(value);
        expect(parseWireDecimalE8(replyTextScaled(value, 8))).toBe(value);
      }),
    );
  });

  it("padding changes the text but neither the value nor the canonical text", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 16n }), fc.nat(4), fc.nat(4), (value, left, right) => {
        const canonical = wireText(value);
        const padded = `${"0".repeat(left)}${canonical}${canonical.includes(".") ? "" : "."}${"0".repeat(right)}`;
        expect(parseWireDecimalE8(padded)).toBe(value);
        expect(wireText(parseWireDecimalE8(padded) ?? -1n)).toBe(canonical);
      }),
    );
  });

  it.each(["", ".", "-1", "+1", "1e3", "NaN", "Infinity", " 1", "1 ", "1,5", "0x10", "1.123456789", "123456789012"])(
    "refuses %j",
    (text) => expect(parseWireDecimalE8(text)).toBeNull(),
  );

  it("prints replies with a trailing .0 on whole numbers, at any scale", () => {
    expect(replyTextScaled(0n, 8)).toBe("0.0");
    expect(replyTextScaled(84_143n * 10n ** 8n, 8)).toBe("84143.0");
    expect(replyTextScaled(-339_414_300_000n, 6)).toBe("-339414.3");
    expect(replyTextScaled(7n, 0)).toBe("7.0");
    expect(replyTextScaled(-5n, 3)).toBe("-0.005");
  });

  // The documentation's own examples of its tick and lot page, and integers of any length.
  it.each([
    ["1234.5", 1, true],
    ["1234.56", 1, false],
    ["0.001234", 0, true],
    ["0.0012345", 0, false],
    ["0.01234", 1, true],
    ["0.012345", 1, false],
    ["123456", 0, true],
    ["12345.6", 0, false],
    ["100000", 5, true],
    ["92401.5", 5, false],
  ])("price %s with szDecimals %i is aligned: %s", (text, szDecimals, expected) => {
    expect(isPriceAligned(parseWireDecimalE8(text) ?? 0n, szDecimals)).toBe(expected);
  });

  it("sizes carry at most szDecimals decimals", () => {
    expect(isSizeAligned(parseWireDecimalE8("1.001") ?? 0n, 3)).toBe(true);
    expect(isSizeAligned(parseWireDecimalE8("1.0001") ?? 0n, 3)).toBe(false);
    expect(decimalCount(parseWireDecimalE8("1.0100") ?? 0n)).toBe(2);
  });
});

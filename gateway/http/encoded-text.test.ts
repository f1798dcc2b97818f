import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ENCODED_CHARS_MAX, ENCODED_CHARS_MIN, encodedText } from "./encoded-text.js";

describe("encoded text", () => {
  it("is the UTF-8 of any text, whatever was encoded before", () => {
    const unit = fc.constantFrom("a", '"', "\u00e9", "\u20ac", "\ud83d\ude00", "\ud83d", "\u0000");
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 40 }), fc.integer({ min: 1, max: 60 }), (units, times) => {
        const text = units.join("").repeat(times);
        expect(Buffer.from(encodedText(text)).equals(Buffer.from(text))).toBe(true);
      }),
    );
  });

  it.each([ENCODED_CHARS_MIN - 1, ENCODED_CHARS_MIN, ENCODED_CHARS_MAX, ENCODED_CHARS_MAX + 1])(
    "may have %i characters of three bytes each",
    (count) => {
      const text = "\u20ac".repeat(count);
      expect(Buffer.from(encodedText(text)).equals(Buffer.from(text))).toBe(true);
    },
  );
});

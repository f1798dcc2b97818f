import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decimalField,
  decodeJson,
  decodeWith,
  idField,
  integerField,
  oneOf,
  parseJsonExact,
  textOrNull,
  WireFault,
} from "./wire-fields.js";

describe("parseJsonExact", () => {
  it("keeps every digit of ids that a double would change, as text", () => {
    expect(parseJsonExact('{"a":1097219372504338433,"b":[9007199254740993,-12345678901234567890]}')).toEqual({
      a: "1097219372504338433",
      b: ["9007199254740993", "-12345678901234567890"],
    });
  });

  it("does not change digits inside texts, fractions and short numbers", () => {
    const text =
      '{"msg":"id: 1234567890123456789, \\"9999999999999999\\"","n":1763682000023,"f":0.1234567890123456789,"e":1e20}';
    expect(parseJsonExact(text)).toEqual(JSON.parse(text));
  });

  it("equals JSON.parse on any JSON without long integers", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        // Numbers of fast-check's JSON may be long fractions; integers of 16 digits and more are what is excluded.
        fc.pre(!/(?<![\d.])-?\d{16,}(?![\d.eE])/.test(text));
        expect(parseJsonExact(text)).toEqual(JSON.parse(text));
      }),
      { seed: 21 },
    );
  });

  it.each(["", "<html>502</html>", '{"a":', "undefined", "{'a':1}"])("is undefined for %j", (text) => {
    expect(parseJsonExact(text)).toBeUndefined();
  });
});

describe("strict fields", () => {
  const row = {
    text: "a",
    price: "84143.0",
    tiny: "1e-05",
    number: 1.5,
    integer: 7,
    long: "1097219372504338433",
    empty: "",
    none: null,
  };

  it("reads what is there", () => {
    expect(decimalField(row, "price")).toBe("84143.0");
    expect(decimalField(row, "tiny")).toBe("0.00001");
    expect(integerField(row, "integer")).toBe(7);
    expect(idField(row, "long")).toBe("1097219372504338433");
    expect(idField(row, "integer")).toBe("7");
    expect(textOrNull(row, "empty")).toBeNull();
    expect(textOrNull(row, "none")).toBeNull();
    expect(oneOf(row, "text", ["a", "b"])).toBe("a");
  });

  it.each<[string, () => unknown]>([
    ["a number where money is text", () => decimalField(row, "number")],
    ["text that is no decimal", () => decimalField(row, "text")],
    ["a fraction for an integer", () => integerField(row, "number")],
    ["an absent field", () => integerField(row, "absent")],
    ["a word that is not known", () => oneOf(row, "text", ["b"])],
    ["an id that is no digits", () => idField(row, "text")],
    ["a property of every object", () => decimalField(row, "toString")],
  ])("faults on %s, naming the field and not the value", (_what, read) => {
    expect(read).toThrow(WireFault);
  });

  it("turns faults into values and lets bugs of ours through", () => {
    const value = decodeJson('{"secret":"0xdeadbeef"}', (parsed) =>
      decimalField(parsed as Record<string, unknown>, "secret"),
    );
    expect(value).toEqual({ ok: false, problem: "secret is not a decimal" });
    expect(() =>
      decodeWith({}, () => {
        throw new TypeError("a bug");
      }),
    ).toThrow("a bug");
  });
});

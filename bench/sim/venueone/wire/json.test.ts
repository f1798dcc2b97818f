import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nodeToPlain, readJson } from "./json.js";

describe("readJson", () => {
  it("agrees with JSON.parse on every value that JSON can print", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value);
        const reading = readJson(text);
        expect(reading).not.toBeNull();
        expect(reading?.after).toBe("");
        if (reading !== null) expect(JSON.stringify(nodeToPlain(reading.node))).toBe(JSON.stringify(JSON.parse(text)));
      }),
    );
  });

  it("accepts exactly what JSON.parse accepts, for any text without trailing garbage", () => {
    const scrap = fc.constantFrom(
      "{",
      "}",
      "[",
      "]",
      ",",
      ":",
      '"',
      '"a"',
      "1",
      "-",
      "0",
      ".",
      "e",
      "true",
      "nul",
      " ",
      "\\u12",
      "\n",
      "\u0001",
    );
    fc.assert(
      fc.property(fc.array(scrap, { maxLength: 8 }), (parts) => {
        const text = parts.join("");
        let parses = true;
        try {
          JSON.parse(text);
        } catch {
          parses = false;
        }
        const reading = readJson(text);
        expect(reading !== null && reading.after === "").toBe(parses);
      }),
      { numRuns: 2_000 },
    );
  });

  it("keeps duplicate keys and the spelling of numbers", () => {
    const node = readJson('{"a":1,"a":1.0}')?.node;
    expect(node).toEqual({
      kind: "object",
      entries: [
        ["a", { kind: "number", text: "1" }],
        ["a", { kind: "number", text: "1.0" }],
      ],
    });
  });

  it("stops after the first complete value and hands back the rest", () => {
    expect(readJson('{"a":1} trailing')?.after).toBe("trailing");
    expect(readJson("1 2")?.after).toBe("2");
  });

  it("refuses nesting beyond its limit instead of overflowing the stack", () => {
    expect(readJson("[".repeat(100_000))).toBeNull();
    expect(readJson(`${"[".repeat(127)}${"]".repeat(127)}`)).not.toBeNull();
  });
});

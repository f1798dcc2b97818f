import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { printJson, readJson } from "./json.js";

describe("JSON with large integers", () => {
  it("prints bigints as numbers, digit by digit, and omits undefined", () => {
    expect(printJson({ ask_id: 23_643_898_043_695_105n, list: [1n, null], gone: undefined, text: 'a"b' })).toBe(
      '{"ask_id":23643898043695105,"list":[1,null],"text":"a\\"b"}',
    );
  });

  it("prints everything else as JSON.stringify does", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(printJson(value)).toBe(JSON.stringify(value));
      }),
    );
  });

  it("reads integers beyond 2^53 digit by digit, and none of what only looks like one", () => {
    expect(readJson('{"Index":23643898043695107,"n":-9007199254740993,"small":9007199254740991}')).toEqual({
      Index: 23_643_898_043_695_107n,
      n: -9_007_199_254_740_993n,
      small: 9_007_199_254_740_991,
    });
    const text = '["12345678901234567890","a\\"12345678901234567890",0.12345678901234567,1e5,12345678901234567.5]';
    expect(readJson(text)).toEqual(JSON.parse(text));
  });

  it("reads everything else as JSON.parse does, and refuses what it refuses", () => {
    fc.assert(
      fc.property(fc.jsonValue({ noUnicodeString: false }), (value) => {
        const text = JSON.stringify(value);
        const isLong = /\d{16}/.test(text);
        if (!isLong) expect(readJson(text)).toEqual(JSON.parse(text));
      }),
    );
    for (const text of ["", "{", "[1,]", "{'a':1}", "01", `${"[".repeat(100)}${"]".repeat(100)}`])
      expect(() => readJson(text)).toThrow(SyntaxError);
  });
});

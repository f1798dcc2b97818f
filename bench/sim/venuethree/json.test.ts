import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { printJson } from "./json.js";

describe("JSON with large integers", () => {
  it("prints bigints as numbers, digit by digit, and leaves undefined out", () => {
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
});

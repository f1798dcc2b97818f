import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { memberText } from "./json-member.js";

const read = (json: string, name: string) => memberText(Buffer.from(json, "utf8"), name);

describe("the text of a member", () => {
  it.each([
    ['{"a":1}', "1"],
    [' {\n"b" : [1,{"a":2}] ,\t"a"\r: 12345678901234567890 }', "12345678901234567890"],
    ['{"a": {"a":{"a":1}} }', '{"a":{"a":1}}'],
    ['{"a":"}\\\\","b":2}', '"}\\\\"'],
    ['{"b":"a","a":"\\"a\\":1"}', '"\\"a\\":1"'],
    ['{"\\u0061":null}', "null"],
    ['{"b":[],"a":[ ]}', "[ ]"],
    ['{"a":"é👋"}', '"é👋"'],
  ])("of %s is what its sender wrote", (json, text) => {
    expect(read(json, "a")).toBe(text);
  });

  it.each(['{"b":{"a":1}}', '{"b":"a"}', "{}", '{"A":1}', '{"b":"\\"a\\":1"}'])("of %s is not there", (json) => {
    expect(read(json, "a")).toBeNull();
  });

  it("reads as the parsed member does, whatever the object", () => {
    const object = fc.dictionary(fc.string({ unit: "grapheme" }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 6 });
    fc.assert(
      fc.property(object, fc.constantFrom(undefined, 1, "\t"), (value, space) => {
        const json = JSON.stringify(value, null, space);
        for (const name of Object.keys(JSON.parse(json) as object)) {
          const text = read(json, name);
          expect(JSON.stringify(JSON.parse(text ?? "undefined"))).toBe(JSON.stringify((value as never)[name]));
        }
      }),
    );
  });
});

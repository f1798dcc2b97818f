import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ServiceError } from "../../engine/domain/errors.js";
import { negotiateForm, REPLY_TYPES } from "./accept.js";

function formOf(accept: string): string {
  try {
    return negotiateForm(accept);
  } catch (error) {
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
}

describe("the form of a history reply", () => {
  it.each([
    ["", "json"],
    ["  ", "json"],
    ["*/*", "json"],
    ["application/*", "json"],
    ["text/*", "csv"],
    ["text/csv", "csv"],
    ["TEXT/CSV; charset=utf-8; header=present", "csv"],
    ["application/x-ndjson", "ndjson"],
    ["application/json, text/csv", "json"],
    ["application/json;q=0.5, text/csv", "csv"],
    ["application/json;q=0.5, text/csv;q=0.5", "json"],
    ["text/csv;q=0.3, application/x-ndjson;q=0.301", "ndjson"],
    ["text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8", "json"],
    // The most specific range decides for each form, wherever it is in the header.
    ["*/*, application/json;q=0", "csv"],
    ["application/json;q=0, text/csv;q=0, */*;q=0.1", "ndjson"],
    ["text/*;q=0.2, */*;q=0.1, application/json;q=0", "csv"],
    // An element that is no range, or has an invalid weight, does not count; the others still do.
    ["garbage, text/csv", "csv"],
    ["text/csv;q=7, application/x-ndjson", "ndjson"],
    ["text/csv;q=0.1234", "NOT_ACCEPTABLE"],
    ["text/csv;q = 0.9, application/json;q=0.1", "csv"],
    ["text/html", "NOT_ACCEPTABLE"],
    ["text/csv;q=0", "NOT_ACCEPTABLE"],
    ["*/*;q=0", "NOT_ACCEPTABLE"],
    ["application/jsonlines", "NOT_ACCEPTABLE"],
    [",,,", "NOT_ACCEPTABLE"],
  ])("for Accept %j is %s", (accept, expected) => {
    expect(formOf(accept)).toBe(expected);
  });

  it("that is not available is refused with a list of what is", () => {
    try {
      negotiateForm("image/png");
      expect.unreachable();
    } catch (error) {
      expect((error as ServiceError).context).toEqual({
        available: ["application/json", "text/csv", "application/x-ndjson"],
      });
    }
  });

  it("is the exact type of the greatest weight, with our order on a tie, for any weights in any order", () => {
    const weight = fc.integer({ min: 0, max: 1000 });
    const types = Object.entries(REPLY_TYPES);
    fc.assert(
      fc.property(fc.tuple(weight, weight, weight), fc.integer({ min: 0, max: 5 }), (weights, turn) => {
        const elements = types.map(([, type], index) => `${type};q=${((weights[index] as number) / 1000).toFixed(3)}`);
        for (let step = 0; step < turn; step++) elements.push(elements.shift() as string);
        const best = Math.max(...weights);
        const expected = best === 0 ? "NOT_ACCEPTABLE" : types[weights.indexOf(best)]?.[0];
        expect(formOf(elements.join(", "))).toBe(expected);
      }),
    );
  });

  it("is chosen or refused, and nothing else happens, on any text", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (accept) => {
        expect(["json", "csv", "ndjson", "NOT_ACCEPTABLE"]).toContain(formOf(accept));
      }),
    );
  });
});

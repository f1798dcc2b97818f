import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  isRefusedUnexecuted,
  notSentOrder,
  readFailureOf,
  retryAfterMs,
  venueText,
  type HttpResponse,
} from "./call-results.js";

function response(headers: Record<string, string>): HttpResponse {
  return { kind: "response", status: 429, headers, body: "", sentAtMs: 0, receivedAtMs: 1_790_000_000_000 };
}

describe("results of calls", () => {
  it("counts only statuses that precede execution as refusals", () => {
    for (const status of [400, 401, 403, 404, 405, 413, 415, 418, 422, 429])
      expect(isRefusedUnexecuted(status)).toBe(true);
    for (const status of [
      100, 200, 201, 204, 301, 302, 304, 408, 409, 425, 499, 500, 501, 502, 503, 504, 520, 524, 599,
    ]) {
      expect(isRefusedUnexecuted(status)).toBe(false);
    }
  });

  it("reads Retry-After as seconds or date, and nothing else", () => {
    expect(retryAfterMs(response({ "retry-after": "3" }))).toBe(3_000);
    expect(retryAfterMs(response({ "retry-after": new Date(1_790_000_005_000).toUTCString() }))).toBe(5_000);
    expect(retryAfterMs(response({ "retry-after": "soon" }))).toBeNull();
    expect(retryAfterMs(response({}))).toBeNull();
  });

  it("names why a read failed", () => {
    expect(readFailureOf({ kind: "noResponse", reason: "TIMEOUT" })).toMatchObject({ code: "TIMEOUT" });
    expect(readFailureOf({ kind: "noResponse", reason: "CONNECTION_LOST" })).toMatchObject({ code: "VENUE_ERROR" });
    expect(readFailureOf({ kind: "noResponse", reason: "BODY_TOO_LARGE" })).toMatchObject({ code: "BAD_RESPONSE" });
    expect(readFailureOf({ kind: "notSent", reason: "BREAKER_OPEN", retryAfterMs: 5 })).toMatchObject({
      code: "BREAKER_OPEN",
      retryAfterMs: 5,
    });
    expect(readFailureOf({ kind: "notSent", reason: "RATE_BUDGET", retryAfterMs: 5 })).toMatchObject({
      code: "RATE_LIMITED",
    });
    expect(readFailureOf({ kind: "notSent", reason: "CLOSED", retryAfterMs: null })).toMatchObject({
      code: "VENUE_ERROR",
    });
    expect(readFailureOf(response({}))).toBeNull();
  });

  it("names what was never sent as not sent", () => {
    expect(notSentOrder({ kind: "notSent", reason: "QUEUE_FULL", retryAfterMs: 9 })).toEqual({
      outcome: "rejected",
      reason: "RATE_LIMITED",
      venueCode: "QUEUE_FULL",
      venueText: "",
      sent: false,
      retryAfterMs: 9,
    });
  });

  it("keeps a venue's sentence with its address, on one line", () => {
    const text = "User or API Wallet 0xefc07321d3d6a8fa4961306c7bf555f0723f28c1 does not exist.";
    expect(venueText(text)).toBe(text);
    expect(venueText("a\r\nb\u0000c")).toBe("a b c");
  });

  it("lets no key through, wherever in the text it is and wherever the text is cut", () => {
    const key = fc.string({ unit: fc.constantFrom(..."0123456789abcdefABCXYZ"), minLength: 64, maxLength: 132 });
    fc.assert(
      fc.property(fc.string({ maxLength: 4_200 }), key, fc.string({ maxLength: 50 }), (before, secret, after) => {
        const shown = venueText(`${before} ${secret} ${after}`);
        for (let at = 0; at + 16 <= secret.length; at += 8)
          expect(shown.includes(secret.slice(at, at + 16))).toBe(false);
        expect(shown.length).toBeLessThanOrEqual(300);
      }),
      { seed: 91 },
    );
  });
});

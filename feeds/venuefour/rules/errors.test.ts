import { describe, expect, it } from "vitest";
import { classifyError, readError } from "./errors.js";
import { readFixture } from "../fixtures/load.js";

const envelope = (fields: object): string =>
  JSON.stringify({ success: false, data: null, error: null, code: null, ...fields });
function verdict(status: number, body: string) {
  const error = readError(status, body);
  return error === null ? null : classifyError(status, error);
}

describe("errors", () => {
  it("seen live are each known by name", () => {
    const bodies = JSON.parse(readFixture("error-bodies.json")) as readonly object[];
    expect(bodies.map((body) => verdict(400, JSON.stringify(body))?.code)).toEqual([
      "BETA_ACCESS",
      "AGENT_NOT_AUTHORIZED",
      "INTERNAL",
      "VERIFICATION_FAILED",
      "INVALID_AMOUNT",
      "INVALID_TRANSFER_RELATIONSHIP",
      "ORDER_NOT_FOUND",
      "ORDER_NOT_FOUND",
    ]);
  });

  it("are matched by id, then text, then code", () => {
    const all = { error_id: "invalid_amount", error: "Order not found for x: 1", code: 36 };
    expect(verdict(422, envelope(all))?.code).toBe("INVALID_AMOUNT");
    expect(verdict(422, envelope({ ...all, error_id: "unspecified" }))?.code).toBe("ORDER_NOT_FOUND");
    expect(verdict(422, envelope({ ...all, error_id: undefined, error: "Something else" }))).toEqual({
      code: "DUPLICATE_CLIENT_ORDER_ID",
      errorClass: "S",
      reason: "DUPLICATE_CLIENT_ID",
    });
  });

  it("with a number of two meanings and no text are refusals of either, and no more than that", () => {
    expect(verdict(422, envelope({ code: 5 }))).toEqual({
      code: "INSUFFICIENT_BALANCE|ORDER_NOT_FOUND",
      errorClass: "S",
      reason: "VENUE_STATE",
    });
    expect(verdict(422, envelope({ code: 5, error: "Failed to cancel order" }))?.reason).toBe("NOT_FOUND");
    expect(verdict(422, envelope({ code: 5, error: "Insufficient balance for x: 5" }))?.reason).toBe(
      "INSUFFICIENT_MARGIN",
    );
  });

  it.each([21, 22, 23])("of a reduce-only refusal %i are REDUCE_ONLY", (code) => {
    expect(verdict(422, envelope({ code }))).toMatchObject({ reason: "REDUCE_ONLY", errorClass: "S" });
  });

  it.each([0, 14, 26, 27])("with the venue's own fault %i leave the outcome unknown", (code) => {
    expect(verdict(422, envelope({ code }))?.errorClass).toBe("U");
  });

  it("in plain text are read as well", () => {
    expect(verdict(400, "Verification failed")).toMatchObject({ code: "VERIFICATION_FAILED", errorClass: "A" });
    expect(verdict(502, "<html>bad gateway</html>")).toMatchObject({ code: "INTERNAL", errorClass: "U" });
    expect(verdict(418, "")).toMatchObject({ code: "REFUSED", errorClass: "S" });
    expect(verdict(403, "")).toMatchObject({ errorClass: "A" });
    expect(verdict(404, "not found")).toMatchObject({ reason: "NOT_FOUND" });
  });

  it("of a limit are RATE_LIMITED whatever they say", () => {
    expect(verdict(429, "slow down")?.reason).toBe("RATE_LIMITED");
    expect(verdict(200, envelope({ error: "Rate limit exceeded" }))?.reason).toBe("RATE_LIMITED");
  });

  it("are not seen in successes", () => {
    expect(readError(200, '{"success":true,"data":[],"error":null,"code":null}')).toBeNull();
    // Whether it is an answer at all is for its decoder.
    expect(readError(200, "[]")).toBeNull();
  });

  it("keep no more of a body than its beginning", () => {
    expect(readError(500, "x".repeat(10_000))?.text).toHaveLength(300);
  });
});

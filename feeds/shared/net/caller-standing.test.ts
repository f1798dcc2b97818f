import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { CallerStanding, REFUSAL_BELIEVED_MS } from "./caller-standing.js";
import type { HttpResult } from "./http.js";

const REFUSAL: Extract<HttpResult, { kind: "response" }> = {
  kind: "response",
  status: 400,
  headers: {},
  body: '{"code":-1022,"msg":"Signature for this request is not valid."}',
  sentAtMs: 1,
  receivedAtMs: 2,
};

function setup(bounds = {}) {
  const clock = new VirtualClock();
  const known: string[] = [];
  const standing = new CallerStanding(clock, bounds);
  standing.onKnown = (caller) => known.push(caller);
  return { clock, known, standing };
}

describe("what is known of callers", () => {
  it("answers with the first refusal for five seconds at most, from when it came", () => {
    const { clock, standing } = setup();
    standing.refused("key", REFUSAL);
    clock.advance(REFUSAL_BELIEVED_MS - 1);
    expect(standing.refusalOf("key")).toBe(REFUSAL);
    expect(standing.refusalOf("another")).toBeNull();
    standing.refused("key", { ...REFUSAL, status: 401 });
    clock.advance(1);
    expect(standing.refusalOf("key")).toBeNull();
    expect(REFUSAL_BELIEVED_MS).toBeLessThanOrEqual(5_000);
  });

  it("keeps no refusal of one that was once answered well, neither before nor after", () => {
    const { standing } = setup();
    standing.refused("key", REFUSAL);
    standing.answeredWell("key");
    expect([standing.isProven("key"), standing.refusalOf("key")]).toEqual([true, null]);
    standing.refused("key", REFUSAL);
    expect(standing.refusalOf("key")).toBeNull();
  });

  it("reports once that a caller is known", () => {
    const { known, standing } = setup();
    standing.answeredWell("key");
    standing.answeredWell("key");
    expect(known).toEqual(["key"]);
  });

  it("is bounded: strangers forget strangers, and never one that is known", () => {
    const { standing } = setup({ proven: 2, refused: 2 });
    standing.answeredWell("good");
    for (let junk = 0; junk < 1_000; junk++) standing.refused(`junk ${junk}`, REFUSAL);
    expect([standing.isProven("good"), standing.refusalOf("junk 0"), standing.refusalOf("junk 999")]).toEqual([
      true,
      null,
      REFUSAL,
    ]);
    // Of those that are known, the one not seen for longest.
    standing.answeredWell("better");
    standing.isProven("good");
    standing.answeredWell("best");
    expect(["good", "better", "best"].map((caller) => standing.isProven(caller))).toEqual([true, false, true]);
  });
});

/**
 * The judge of trades on splits: it compares the cost of the legs with that of the venue beside them, as the reply
 * shows them.
 */
import { expect, it } from "vitest";
import type { Evidence } from "../support/judge/evidence.js";
import { splits } from "../support/judge/holds.js";

/**
 * 1 BTC, split 0.6 and 0.4 over two venues; a third could take it all. `savings` names no runner-up: a split has none.
 */
function judged(legs: readonly [string, string], alone: string, direction: "LONG" | "SHORT" = "LONG") {
  const row = { eligible: true, positionSize: "1", quoteRate: "1" };
  const routing = {
    split: true,
    savings: "0",
    savingsPercent: "0",
    reference: { mid: "100000", exchange: "venueone" },
    candidates: [
      { ...row, exchange: "venueone", selected: true, positionSize: "0.6", routedSize: "0.6", allInPrice: legs[0] },
      { ...row, exchange: "venuetwo", selected: true, positionSize: "0.6", routedSize: "0.4", allInPrice: legs[1] },
      { ...row, exchange: "venuethree", selected: false, routedSize: "0", allInPrice: alone },
      { exchange: "venuefour", eligible: false, positionSize: null },
    ],
  };
  const answer = { askedAtMs: 1, answeredAtMs: 2, data: { routing } };
  const terms = { allowSplit: true, members: ["venueone", "venuetwo", "venuethree"] };
  const trial = { kind: "CLOSE", key: "k", terms, size: "1", symbol: "BTC", direction, preferred: null };
  const evidence = { trials: [{ ...trial, answers: [answer] }], holdings: { mostHeld: () => 10n ** 12n } };
  return splits(evidence as unknown as Evidence);
}

it("nothing, where the split is better than the venue alone by more than the tie distance", () => {
  // 99990 over the legs; 10 of 100000 are 1 bps.
  expect(judged(["99990", "99990"], "99980")).toEqual([]);
  expect(judged(["99980", "100005"], "99984")).toEqual([]);
  expect(judged(["100010", "100010"], "100020", "SHORT")).toEqual([]);
});

it("the judge reports a split for nothing, where one venue alone is within the tie distance, or better", () => {
  const blamed = [expect.stringContaining("venuethree")];
  expect(judged(["99990", "99990"], "99986")).toEqual(blamed);
  expect(judged(["99990", "99990"], "99999")).toEqual(blamed);
  expect(judged(["100010", "100010"], "100014", "SHORT")).toEqual(blamed);
});

import { describe, expect, it } from "vitest";
import { LISTED_BTC } from "../../../engine/domain/test/instruments.js";
import { leverageProblem } from "./symbol-settings.js";

describe("a leverage", () => {
  it("is a whole number from 1 to the contract's own maximum", () => {
    const contract = { ...LISTED_BTC.venueone, maxLeverage: 20 };
    expect([1, 7, 20].map((leverage) => leverageProblem(leverage, contract))).toEqual([null, null, null]);
    for (const leverage of [0, -1, 21, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      expect(leverageProblem(leverage, contract)).toMatchObject({
        outcome: "rejected",
        venueCode: "LEVERAGE",
        venueText: "leverage is a whole number from 1 to 20",
        sent: false,
      });
  });
});

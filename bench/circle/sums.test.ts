/** Sums of the circle: exact in integers, and each kind of loss is seen. */
import { describe, expect, it } from "vitest";
import {
  belowLastDigit,
  type CircleSums,
  differences,
  floorAtto,
  parseAtto,
  printAtto,
  rawUnits,
  tradeSums,
} from "./sums.js";

const FILLS = [
  { side: "BUY", quantity: "0.001", price: "92144", fee: { amount: "0.041464" } },
  { side: "SELL", quantity: "0.001", price: "92130", fee: { amount: "0.041458" } },
] as const;
const trades = tradeSums(FILLS, "4.5", 6);

/** As a whole trip through venueone came out. */
const SUMS: CircleSums = {
  token: { before: parseAtto("1000"), after: parseAtto("998.903076") },
  coins: { before: parseAtto("1"), after: parseAtto("0.999965405999757842") },
  deposited: parseAtto("250.5"),
  withdrawn: parseAtto("249.403076"),
  withdrawalFees: parseAtto("1"),
  trades,
  ...{ funding: 0n, left: 0n, digits: 6 },
  gas: parseAtto("0.000034594000242158"),
};
const wrong = (changes: Partial<CircleSums>) =>
  differences({ ...SUMS, ...changes }).flatMap(({ name, missing }) => (missing === 0n ? [] : [name.split(":")[0]]));

describe("an amount", () => {
  it("is the same text again, and one that is finer or no decimal throws", () => {
    for (const text of ["0", "1", "-0.0105", "250.5", "0.000000000000000001", "12345678901234567890.5"])
      expect(printAtto(parseAtto(text))).toBe(text);
    for (const text of ["", "1e3", ".5", "1.", "0.0000000000000000001", "NaN", "+1"])
      expect(() => parseAtto(text)).toThrow(RangeError);
  });

  it("is cut to the digits of a token, and written in its smallest unit", () => {
    const value = parseAtto("149.918589741");
    expect(printAtto(floorAtto(value, 6))).toBe("149.918589");
    expect(rawUnits(floorAtto(value, 6), 6)).toBe("149918589");
    expect(rawUnits(value, 18)).toBe("149918589741000000000");
  });
});

describe("the sums of a circle", () => {
  it("take the fee of each fill from the listed rate, and see one that is printed otherwise", () => {
    expect([printAtto(trades.result), printAtto(trades.fees), printAtto(trades.printedFees)]).toEqual([
      ...["-0.014", "0.0829233", "0.082922"],
    ]);
    expect(trades.wrongFees).toBe(0);
    const [first, second] = FILLS;
    expect(tradeSums([first, { ...second, fee: { amount: "0.041459" } }], "4.5", 6).wrongFees).toBe(1);
    expect(tradeSums([first, { ...second, fee: null }], "4.5", 6).wrongFees).toBe(1);
  });

  it("are exact where nothing is lost, but for what is below the venue's last digit", () => {
    expect(wrong({})).toEqual([]);
    expect(printAtto(belowLastDigit(SUMS))).toBe("0.0000007");
  });

  it.each([
    [
      "a payout that is short by the smallest unit",
      { token: { ...SUMS.token, after: SUMS.token.after - 1n } },
      ["on chain"],
    ],
    [
      "a last digit that is nowhere",
      { withdrawn: SUMS.withdrawn - parseAtto("0.000001") },
      ["on chain", "at the venue"],
    ],
    ["money out of nothing", { funding: -parseAtto("0.0000008") }, ["at the venue"]],
    ["gas that no receipt has", { gas: SUMS.gas - 1n }, ["gas"]],
    [
      "a fee that is not the rate's",
      { trades: { ...trades, wrongFees: 1 } },
      ["each printed fee is the listed rate of its fill"],
    ],
  ] as const)("are wrong by %s", (_, changes, names) => {
    expect(wrong(changes)).toEqual(names);
  });
});

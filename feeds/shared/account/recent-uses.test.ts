import { describe, expect, it } from "vitest";
import { RecentUses } from "./recent-uses.js";

describe("recent uses of accounts", () => {
  it("report the second within the window, and each later one until it is forgotten", () => {
    const uses = new RecentUses(1_000);
    expect(uses.isAgain("a", 0)).toBe(false);
    expect(uses.isAgain("b", 10)).toBe(false);
    expect(uses.isAgain("a", 999)).toBe(true);
    expect(uses.isAgain("a", 1_500)).toBe(true);
    expect(uses.isAgain("a", 2_500)).toBe(false);
    uses.forget("a");
    expect(uses.isAgain("a", 2_501)).toBe(false);
  });

  it("are bounded: the account used longest ago is forgotten", () => {
    const uses = new RecentUses(1_000_000);
    for (let index = 0; index <= 1_024; index++) uses.isAgain(String(index), index);
    expect(uses.isAgain("0", 2_000)).toBe(false);
    expect(uses.isAgain("1024", 2_001)).toBe(true);
  });
});

import { describe, expect, it } from "vitest";
import { RollingBudget } from "./rolling-budget.js";

describe("rolling budget", () => {
  it("refuses what would exceed the window and takes it when the oldest spending is back", () => {
    const budget = new RollingBudget(1_000);
    expect(budget.trySpend("a", 3, 5, 0)).toBe(true);
    expect(budget.trySpend("a", 2, 5, 600)).toBe(true);
    expect(budget.trySpend("a", 1, 5, 999)).toBe(false);
    expect(budget.refreshMs("a", 999)).toBe(1);
    expect(budget.trySpend("a", 3, 5, 1_000)).toBe(true);
    expect(budget.used("a", 1_000)).toBe(5);
  });

  it("spends nothing on a refusal, and keeps keys apart", () => {
    const budget = new RollingBudget(1_000);
    expect(budget.trySpend("a", 6, 5, 0)).toBe(false);
    expect(budget.used("a", 0)).toBe(0);
    expect(budget.trySpend("a", 5, 5, 0)).toBe(true);
    expect(budget.trySpend("b", 5, 5, 0)).toBe(true);
    expect(budget.refreshMs("c", 0)).toBe(0);
  });
});

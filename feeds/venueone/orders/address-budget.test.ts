import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { AddressBudget } from "./address-budget.js";

const ADDRESS = `0x${"a".repeat(40)}`;

function read(budget: AddressBudget, used: number, cap: number): void {
  expect(budget.beginRead(ADDRESS)).toBe(true);
  budget.noteReading(ADDRESS, used, cap);
}

describe("a cumulative address budget", () => {
  it("lets exits pass whatever is left", () => {
    const budget = new AddressBudget(new VirtualClock());
    read(budget, 10_000, 10_000);
    expect(budget.tryTake(ADDRESS, 200, "exit")).toBe(0);
    expect(budget.tryTake(ADDRESS, 1, "trade")).toBeGreaterThan(0);
  });

  it("keeps a quarter for exits, of a large budget no more than a quarter of what every address is granted", () => {
    const budget = new AddressBudget(new VirtualClock());
    read(budget, 29, 40);
    expect(budget.tryTake(ADDRESS, 1, "trade")).toBe(0);
    expect(budget.tryTake(ADDRESS, 1, "trade")).toBeGreaterThan(0);
    const rich = new AddressBudget(new VirtualClock());
    read(rich, 5_000_000 - 2_501, 5_000_000);
    expect(rich.tryTake(ADDRESS, 1, "trade")).toBe(0);
    expect(rich.tryTake(ADDRESS, 1, "trade")).toBeGreaterThan(0);
  });

  it("without a reading grants what every address has, less what left here, exits too", () => {
    const budget = new AddressBudget(new VirtualClock());
    expect(budget.waitMs(ADDRESS, 1, "trade")).toBe(0);
    expect(budget.tryTake(ADDRESS, 7_400, "exit")).toBe(0);
    expect(budget.tryTake(ADDRESS, 100, "trade")).toBe(0);
    expect(budget.tryTake(ADDRESS, 1, "trade")).toBeGreaterThan(0);
    budget.refund(ADDRESS, 100);
    expect(budget.tryTake(ADDRESS, 100, "trade")).toBe(0);
  });

  it("counts twice what left while a reading was taken, and forgets what left before it", () => {
    const budget = new AddressBudget(new VirtualClock());
    expect(budget.tryTake(ADDRESS, 20, "trade")).toBe(0);
    expect(budget.beginRead(ADDRESS)).toBe(true);
    expect(budget.tryTake(ADDRESS, 5, "trade")).toBe(0);
    budget.noteReading(ADDRESS, 25, 100);
    expect(budget.left(ADDRESS)).toEqual({ left: 70, cap: 100 });
  });

  it("keeps the last reading and the count when a reading fails", () => {
    const clock = new VirtualClock();
    const budget = new AddressBudget(clock);
    read(budget, 0, 40);
    expect(budget.tryTake(ADDRESS, 30, "trade")).toBe(0);
    clock.advance(10_000);
    expect(budget.beginRead(ADDRESS)).toBe(true);
    budget.noteUnread(ADDRESS);
    expect(budget.tryTake(ADDRESS, 1, "trade")).toBeGreaterThan(0);
    expect(budget.beginRead(ADDRESS)).toBe(false);
  });

  it("is read where it is unknown, old or half gone, of one address each ten seconds, of all twelve times a minute", () => {
    const clock = new VirtualClock();
    const budget = new AddressBudget(clock);
    read(budget, 0, 4_000);
    expect(budget.tryTake(ADDRESS, 1_499, "trade")).toBe(0);
    clock.advance(10_000);
    expect(budget.beginRead(ADDRESS)).toBe(false);
    budget.tryTake(ADDRESS, 1, "trade");
    expect(budget.beginRead(ADDRESS)).toBe(true);
    // One at a time.
    clock.advance(10_000);
    expect(budget.beginRead(ADDRESS)).toBe(false);
    budget.noteReading(ADDRESS, 1_500, 40_000);
    expect(budget.beginRead(ADDRESS)).toBe(false);
    clock.advance(10 * 60_000);
    expect(budget.beginRead(ADDRESS)).toBe(true);
    for (let count = 1; count < 12; count++) expect(budget.beginRead(`0x${count}`)).toBe(true);
    expect(budget.beginRead("0xff")).toBe(false);
    clock.advance(61_000);
    expect(budget.beginRead("0xff")).toBe(true);
  });

  it("reads the addresses in turn: those that are always due leave readings to one that was not read lately", () => {
    const clock = new VirtualClock();
    const budget = new AddressBudget(clock);
    const spent = ["0x1", "0x2", "0x3"];
    const readSpent = (): number =>
      spent.filter((address) => {
        if (!budget.beginRead(address)) return false;
        budget.noteReading(address, 10_000, 10_000);
        return true;
      }).length;
    for (let seconds = 0; seconds < 120; seconds += 10) {
      readSpent();
      clock.advance(10_000);
    }
    expect(budget.beginRead(ADDRESS)).toBe(true);
    // One whose reading fails is as often due.
    budget.noteUnread(ADDRESS);
    for (let seconds = 0; seconds < 120; seconds += 10) {
      if (budget.beginRead(ADDRESS)) budget.noteUnread(ADDRESS);
      readSpent();
      clock.advance(10_000);
    }
    expect(budget.beginRead("0x4")).toBe(true);
  });

  it("follows the venue's refusal, and no cap of a cancel that is larger", () => {
    const budget = new AddressBudget(new VirtualClock());
    budget.noteRefused(ADDRESS, 10_001, 10_000);
    expect(budget.waitMs(ADDRESS, 1, "trade")).toBeGreaterThan(0);
    budget.noteRefused(ADDRESS, 20_001, 20_000);
    expect(budget.left(ADDRESS)).toEqual({ left: 0, cap: 10_000 });
  });

  it("forgets the address used longest ago when full", () => {
    const budget = new AddressBudget(new VirtualClock(), 2);
    for (const address of ["0x1", "0x2"]) budget.noteRefused(address, 10_001, 10_000);
    budget.tryTake("0x1", 1, "exit");
    budget.tryTake("0x3", 1, "exit");
    expect(budget.waitMs("0x1", 1, "trade")).toBeGreaterThan(0);
    expect(budget.waitMs("0x2", 1, "trade")).toBe(0);
  });
});

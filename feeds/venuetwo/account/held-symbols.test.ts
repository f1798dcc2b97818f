import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { HeldSymbols } from "./held-symbols.js";

describe("held symbols", () => {
  it("are those of positions read lately", () => {
    const clock = new VirtualClock();
    const held = new HeldSymbols(clock);
    held.note("BTC");
    expect([held.countOf("BTC"), held.countOf("ETH")]).toEqual([1, 0]);
    clock.advance(9 * 60_000);
    held.note("ETH");
    clock.advance(2 * 60_000);
    expect([held.countOf("BTC"), held.countOf("ETH")]).toEqual([0, 1]);
  });

  it("are bounded: the one not read for longest goes", () => {
    const held = new HeldSymbols(new VirtualClock());
    for (let index = 0; index < 4_096; index++) held.note(`C${index}`);
    held.note("C0");
    held.note("ONE_MORE");
    expect([held.countOf("C0"), held.countOf("C1"), held.countOf("ONE_MORE")]).toEqual([1, 0, 1]);
  });
});

import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { TimedCache } from "./timed-cache.js";

function setUp(max = 8) {
  const clock = new VirtualClock();
  return { clock, cache: new TimedCache<string, number>(clock, max) };
}

describe("what is believed for a time", () => {
  it("is believed up to its end and not at it, each entry for its own time", () => {
    const { cache, clock } = setUp();
    cache.set("short", 1, 1_000);
    cache.set("long", 2, 5_000);
    clock.advance(999);
    expect([cache.get("short"), cache.get("long"), cache.get("none")]).toEqual([1, 2, null]);
    clock.advance(1);
    expect([cache.get("short"), cache.get("long")]).toEqual([null, 2]);
  });

  it("goes by the monotonic clock, whatever the wall clock is set to", () => {
    const { cache, clock } = setUp();
    cache.set("a", 1, 1_000);
    clock.stepWall(60_000);
    expect(cache.get("a")).toBe(1);
    clock.stepWall(-120_000);
    clock.advance(1_000);
    expect(cache.get("a")).toBeNull();
  });

  it("remains the last answer when its time is over or it is doubted, until it is deleted", () => {
    const { cache, clock } = setUp();
    cache.set("old", 1, 10);
    cache.set("doubted", 2, 1_000);
    clock.advance(10);
    cache.doubt("doubted");
    cache.doubt("none");
    expect(["old", "doubted", "none"].map((key) => [cache.get(key), cache.last(key)])).toEqual([
      [null, 1],
      [null, 2],
      [null, null],
    ]);
    cache.set("doubted", 3, 1_000);
    expect(cache.get("doubted")).toBe(3);
    cache.delete("doubted");
    expect([cache.get("doubted"), cache.last("doubted")]).toEqual([null, null]);
  });

  it("is bounded: the entry that was not used for longest goes", () => {
    const { cache } = setUp(2);
    cache.set("a", 1, 1_000);
    cache.set("b", 2, 1_000);
    cache.get("a");
    cache.last("b");
    cache.set("c", 3, 1_000);
    expect(["a", "b", "c"].map((key) => cache.last(key))).toEqual([1, null, 3]);
  });
});

import { describe, expect, it } from "vitest";
import { ReplayWindow } from "./replay-window.js";

const NOW = 1_790_000_000_000;

describe("signatures of accepted writes", () => {
  it("are kept until their own window is over, whatever the windows of others", () => {
    const window = new ReplayWindow();
    expect(window.admit("a", "short", NOW, 1_000, NOW)).toBe("new");
    expect(window.admit("a", "long", NOW + 1, 60_000, NOW)).toBe("new");
    expect(window.admit("a", "late", NOW - 50_000, 60_000, NOW)).toBe("new");
    expect(window.admit("a", "long", NOW + 1, 60_000, NOW + 60_001)).toBe("seen");
    // A first sight with a timestamp below forgotten ones is new while the clock goes forward.
    expect(window.admit("a", "slow", NOW + 3_000, 60_000, NOW + 62_500)).toBe("new");
  });

  it("are forgotten after it, and the memory is given back", () => {
    const window = new ReplayWindow();
    for (let index = 0; index < 10_000; index++)
      window.admit(`k${index % 100}`, `s${index}`, NOW + (index % 1_000), 5_000, NOW);
    expect(window.size).toBe(10_000);
    window.admit("other", "s", NOW + 20_000, 5_000, NOW + 20_000);
    expect(window.size).toBe(1);
  });

  it("are of one key: the same text of another is another", () => {
    const window = new ReplayWindow();
    expect([window.admit("a", "s", NOW, 5_000, NOW), window.admit("b", "s", NOW, 5_000, NOW)]).toEqual(["new", "new"]);
    window.forget("a");
    expect([window.size, window.admit("b", "s", NOW, 5_000, NOW)]).toEqual([1, "seen"]);
  });

  it("that are forgotten do not come back with a clock set back, and newer ones go on", () => {
    const window = new ReplayWindow();
    window.admit("a", "s", NOW, 5_000, NOW);
    window.admit("a", "t", NOW + 10_000, 5_000, NOW + 10_000);
    expect(window.admit("a", "s", NOW, 5_000, NOW + 1_000)).toBe("stale");
    expect(window.admit("a", "u", NOW + 1, 5_000, NOW + 1_000)).toBe("new");
    expect(window.admit("a", "t", NOW + 10_000, 5_000, NOW + 9_000)).toBe("seen");
  });

  it("of a key over its bound give way to its newer ones, and are stale from then on", () => {
    const window = new ReplayWindow({ perKey: 100, total: 1_000 });
    window.admit("other", "s", NOW, 60_000, NOW);
    for (let index = 0; index < 1_000; index++)
      expect(window.admit("a", `s${index}`, NOW + index * 10, 60_000, NOW + index * 10)).toBe("new");
    expect(window.size).toBeLessThanOrEqual(101);
    for (let index = 0; index < 1_000; index++)
      expect(window.admit("a", `s${index}`, NOW + index * 10, 60_000, NOW + 10_000)).not.toBe("new");
    expect(window.admit("other", "s", NOW, 60_000, NOW + 10_000)).toBe("seen");
  });

  it("of a key with more than its bound in one second still give way", () => {
    const window = new ReplayWindow({ perKey: 10, total: 1_000 });
    for (let index = 0; index < 30; index++)
      expect(window.admit("a", `s${index}`, NOW + index, 5_000, NOW)).toBe("new");
    for (let index = 0; index < 30; index++)
      expect(window.admit("a", `s${index}`, NOW + index, 5_000, NOW)).not.toBe("new");
    expect(window.size).toBeLessThanOrEqual(10);
  });

  it("over the bound of all keys are those of the key that has most", () => {
    const window = new ReplayWindow({ perKey: 1_000, total: 200 });
    for (let index = 0; index < 50; index++) window.admit("small", `s${index}`, NOW + index, 60_000, NOW);
    for (let index = 0; index < 900; index++)
      window.admit("large", `l${index}`, NOW + index * 20, 60_000, NOW + index * 20);
    for (let index = 0; index < 100; index++) window.admit(`new${index}`, "s", NOW + 18_000, 60_000, NOW + 18_000);
    expect(window.size).toBeLessThanOrEqual(200);
    for (let index = 0; index < 50; index++)
      expect(window.admit("small", `s${index}`, NOW + index, 60_000, NOW + 18_000)).toBe("seen");
  });
});

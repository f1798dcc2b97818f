import { describe, expect, it } from "vitest";
import { StopRequests } from "./stop-signals.js";

describe("signals that ask a process to stop", () => {
  const take = (...signals: [isOwn: boolean, nowMs: number][]): string[] => {
    const requests = new StopRequests();
    return signals.map(([isOwn, nowMs]) => requests.take(isOwn, nowMs));
  };

  it("ask once where two come at once, and to stop at once where one comes later", () => {
    expect(take([true, 0], [true, 999], [true, 1_000])).toEqual(["stop", "none", "force"]);
    expect(take([false, 0], [false, 999], [false, 1_000])).toEqual(["stop", "none", "force"]);
  });

  it("ask once where the launcher passes on what came to both, however late, and in whichever order", () => {
    expect(take([true, 0], [false, 60_000], [false, 90_000])).toEqual(["stop", "none", "none"]);
    expect(take([false, 0], [true, 5], [false, 60_000])).toEqual(["stop", "none", "none"]);
  });

  it("ask again where a later one comes to both", () => {
    expect(take([true, 0], [false, 1], [true, 2_000])).toEqual(["stop", "none", "force"]);
    expect(take([false, 0], [true, 2_000])).toEqual(["stop", "force"]);
  });
});

import { describe, expect, it } from "vitest";
import { StopRequests } from "./stop-signals.js";

describe("signals to stop a process", () => {
  const take = (...signals: [isOwn: boolean, nowMs: number][]): string[] => {
    const requests = new StopRequests();
    return signals.map(([isOwn, nowMs]) => requests.take(isOwn, nowMs));
  };

  it("count once where two come together, and force the stop where one comes later", () => {
    expect(take([true, 0], [true, 999], [true, 1_000])).toEqual(["stop", "none", "force"]);
    expect(take([false, 0], [false, 999], [false, 1_000])).toEqual(["stop", "none", "force"]);
  });

  it("count once where the launcher passes on the signal that both received, however late, and in whichever order", () => {
    expect(take([true, 0], [false, 60_000], [false, 90_000])).toEqual(["stop", "none", "none"]);
    expect(take([false, 0], [true, 5], [false, 60_000])).toEqual(["stop", "none", "none"]);
  });

  it("force the stop where a later signal reaches both", () => {
    expect(take([true, 0], [false, 1], [true, 2_000])).toEqual(["stop", "none", "force"]);
    expect(take([false, 0], [true, 2_000])).toEqual(["stop", "force"]);
  });
});

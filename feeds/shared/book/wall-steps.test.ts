/** Steps of our wall clock: what counts as one, and how far it was. */
import { describe, expect, it } from "vitest";
import type { Clock } from "../../../engine/domain/clock.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { WallSteps } from "./wall-steps.js";

describe("a step of the wall clock", () => {
  it("is seen once, with its size and direction", () => {
    const clock = new VirtualClock();
    const steps = new WallSteps(clock);
    clock.advance(5_000);
    expect([steps.look(), steps.count]).toEqual([0, 0]);
    clock.stepWall(-90_000);
    expect([Math.round(steps.look()), steps.look(), steps.count]).toEqual([-90_000, 0, 1]);
    clock.stepWall(150_000);
    expect([Math.round(steps.look()), steps.look(), steps.count]).toEqual([150_000, 0, 2]);
  });

  it("is none within a tenth of a second", () => {
    const clock = new VirtualClock();
    const steps = new WallSteps(clock);
    clock.stepWall(90);
    expect([steps.look(), steps.count]).toEqual([0, 0]);
    // Small ones add up.
    clock.stepWall(90);
    expect([Math.round(steps.look()), steps.count]).toEqual([180, 1]);
  });

  it("is none where the process paused between two readings", () => {
    const virtual = new VirtualClock();
    let pauseAfter = Number.POSITIVE_INFINITY;
    const clock = {
      wallMs: () => {
        const wallMs = virtual.wallMs();
        if (--pauseAfter === 0) virtual.advance(400);
        return wallMs;
      },
      monoNs: () => virtual.monoNs(),
    } as Clock;
    const steps = new WallSteps(clock);
    pauseAfter = 1;
    expect([steps.look(), steps.count]).toEqual([0, 0]);
  });
});

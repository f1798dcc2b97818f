import { describe, expect, it } from "vitest";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { Breaker, DEFAULT_BREAKER } from "./breaker.js";

function setup(seed = 7) {
  const clock = new VirtualClock();
  const breaker = new Breaker({ clock, random: createSeededRandom(seed), ...DEFAULT_BREAKER });
  return { clock, breaker };
}

describe("Breaker", () => {
  it("opens after the threshold of failures in a row, not before, and a success between them resets the row", () => {
    const { breaker } = setup();
    for (let count = 1; count < DEFAULT_BREAKER.failureThreshold; count++) breaker.onFailure(false);
    expect(breaker.tryPass()).toEqual({ ok: true, isProbe: false });
    breaker.onSuccess(false);
    for (let count = 1; count < DEFAULT_BREAKER.failureThreshold; count++) breaker.onFailure(false);
    expect(breaker.state).toBe("closed");
    breaker.onFailure(false);
    expect(breaker.state).toBe("open");
    expect(breaker.tryPass().ok).toBe(false);
  });

  it("waits at least Retry-After and at most a tenth more, for every seed", () => {
    for (let seed = 0; seed < 200; seed++) {
      const { clock, breaker } = setup(seed);
      breaker.onLimited(false, 10_000, false);
      clock.advance(9_999);
      expect(breaker.tryPass().ok).toBe(false);
      clock.advance(1_001);
      expect(breaker.tryPass()).toEqual({ ok: true, isProbe: true });
    }
  });

  it("knows a limit from an outage, also where one follows the other", () => {
    const { clock, breaker } = setup();
    expect(breaker.isLimited).toBe(false);
    breaker.onLimited(false, 1_000, false);
    expect(breaker.isLimited).toBe(true);
    clock.advance(1_200);
    expect([breaker.state, breaker.isLimited]).toEqual(["halfOpen", false]);
    expect(breaker.tryPass()).toEqual({ ok: true, isProbe: true });
    breaker.onFailure(true);
    expect(breaker.isLimited).toBe(false);
    clock.advance(DEFAULT_BREAKER.backoff.capMs);
    breaker.tryPass();
    breaker.onLimited(true, 1_000, false);
    expect([breaker.state, breaker.isLimited]).toEqual(["open", true]);
    clock.advance(1_200);
    breaker.tryPass();
    breaker.onSuccess(true);
    for (let count = 0; count < DEFAULT_BREAKER.failureThreshold; count++) breaker.onFailure(false);
    expect(breaker.isLimited).toBe(false);
  });

  it("stays open two minutes after a 418 that names no time", () => {
    const { clock, breaker } = setup();
    breaker.onLimited(false, null, true);
    clock.advance(119_999);
    expect(breaker.state).toBe("open");
    expect(breaker.openUntilWallMs).toBeGreaterThan(clock.wallMs());
    clock.advance(12_001);
    expect(breaker.state).toBe("halfOpen");
    expect(breaker.openUntilWallMs).toBe(0);
  });

  it("lets exactly one probe through, closes on its success and opens longer on its failure", () => {
    const { clock, breaker } = setup();
    breaker.onLimited(false, 1_000, false);
    clock.advance(1_200);
    expect(breaker.tryPass()).toEqual({ ok: true, isProbe: true });
    expect(breaker.tryPass().ok).toBe(false);
    breaker.onLimited(true, null, false);
    expect(breaker.state).toBe("open");
    clock.advance(DEFAULT_BREAKER.limitedDefaultMs);
    expect(breaker.state).toBe("open");
    clock.advance(DEFAULT_BREAKER.limitedDefaultMs * 2);
    expect(breaker.tryPass()).toEqual({ ok: true, isProbe: true });
    breaker.onSuccess(true);
    expect(breaker.state).toBe("closed");
    expect(breaker.tryPass()).toEqual({ ok: true, isProbe: false });
  });

  it("releases the probe when it never left this machine", () => {
    const { clock, breaker } = setup();
    breaker.onLimited(false, 1_000, false);
    clock.advance(1_200);
    breaker.tryPass();
    breaker.onNotSent(true);
    expect(breaker.tryPass()).toEqual({ ok: true, isProbe: true });
  });

  it("lets one stranger probe, and one who is known beside it, whose verdict counts", () => {
    const { clock, breaker } = setup();
    breaker.onLimited(false, 1_000, false);
    clock.advance(1_200);
    expect(breaker.tryPass(true)).toEqual({ ok: true, isProbe: true });
    expect(breaker.tryPass(true).ok).toBe(false);
    expect(breaker.tryPass()).toEqual({ ok: true, isProbe: true });
    expect(breaker.tryPass().ok).toBe(false);
    breaker.onLimited(true, 60_000, true);
    breaker.onSuccess(true, true);
    expect(breaker.state).toBe("open");
  });

  it("is not closed by the late success of a call sent before a ban, nor shortened by a milder verdict", () => {
    const { clock, breaker } = setup();
    breaker.onLimited(false, 60_000, true);
    breaker.onSuccess(false);
    breaker.onLimited(false, 1_000, false);
    clock.advance(59_999);
    expect(breaker.state).toBe("open");
  });
});

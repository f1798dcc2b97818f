import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { createMemoryReservations } from "../../shared/test/memory-reservations.js";
import { createVenuetwoNonces, MAX_AHEAD_MS, MICROS_PER_MS } from "./nonces.js";

const SIGNER = "0x21cf8ae13bb72632562c6fff438652ba1a151bb0";

describe("nonces of venuetwo over restarts", () => {
  it.each([0, 3_000])("go on at once after three restarts within a second (after %i ms of orders)", async (busyMs) => {
    const clock = new VirtualClock(1_790_000_000_000);
    const marks = createMemoryReservations();
    const start = () => createVenuetwoNonces(clock, marks, () => 0);
    const taken: number[] = [];
    const take = async (nonces: ReturnType<typeof start>): Promise<void> => {
      const next = await nonces.next(SIGNER);
      if (!next.ok) throw new Error(`${next.problem} ${next.retryAfterMs}`);
      expect(next.nonce / MICROS_PER_MS - clock.wallMs()).toBeLessThanOrEqual(MAX_AHEAD_MS);
      taken.push(next.nonce);
    };
    const first = start();
    for (let spentMs = 0; spentMs < busyMs; spentMs += 50) {
      await take(first);
      await clock.advanceAsync(50);
    }
    await take(first);
    for (let restart = 0; restart < 3; restart++) {
      await clock.advanceAsync(300);
      const nonces = start();
      for (let order = 0; order < 3; order++) await take(nonces);
    }
    expect(new Set(taken).size).toBe(taken.length);
  });

  it("take a number out of a block that a slow store gave, on the second try at the latest", async () => {
    const clock = new VirtualClock(1_790_000_000_000);
    const marks = createMemoryReservations();
    const slow = {
      reserve: async (...range: Parameters<typeof marks.reserve>) => {
        const block = await marks.reserve(...range);
        await clock.advanceAsync(1_500);
        return block;
      },
    };
    expect((await createVenuetwoNonces(clock, slow, () => 0).next(SIGNER)).ok).toBe(true);
    expect(marks.calls.length).toBeLessThanOrEqual(3);
  });

  it("do not cost a write for each order", async () => {
    const clock = new VirtualClock(1_790_000_000_000);
    const marks = createMemoryReservations();
    const nonces = createVenuetwoNonces(clock, marks, () => 0);
    for (let order = 0; order < 200; order++) {
      expect((await nonces.next(SIGNER)).ok).toBe(true);
      await clock.advanceAsync(50);
    }
    expect(marks.calls.length).toBeLessThan(20);
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FrameRing, RING_AGE_MS, RING_EVENTS_MAX } from "./frame-ring.js";

describe("the ring of updates", () => {
  it("returns what follows a sequence number without a gap, or nothing at all", () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 40_000 }), fc.integer({ min: 0, max: 4_000 })), {
      maxLength: 200,
    });
    fc.assert(
      fc.property(steps, fc.integer({ min: 0, max: 220 }), (updates, place) => {
        const ring = new FrameRing();
        let tsMs = 0;
        for (const [index, [waitMs, chars]] of updates.entries()) {
          tsMs += waitMs;
          ring.push({ seq: index + 2, tsMs, data: "x".repeat(chars) });
        }
        const head = updates.length + 1;
        const after = ring.after(place, head, tsMs);
        if (place > head) expect(after).toBeNull();
        else if (after !== null) {
          expect(after.map(({ seq }) => seq)).toEqual(
            Array.from({ length: head - place }, (_, index) => place + 1 + index),
          );
          for (const update of after) expect(tsMs - update.tsMs).toBeLessThanOrEqual(RING_AGE_MS);
        } else {
          // Refused only because the next update is gone: too old, or pushed out.
          const next = updates.slice(0, place).reduce((sum, [waitMs]) => sum + waitMs, 0);
          const chars = updates.slice(place - 1).reduce((sum, [, size]) => sum + size, 0);
          expect(place < 1 || tsMs - next > RING_AGE_MS || chars > 1024 * 1024).toBe(true);
        }
      }),
    );
  });

  it("holds 1024 updates for five minutes", () => {
    const ring = new FrameRing();
    for (let seq = 2; seq <= 5_001; seq++) ring.push({ seq, tsMs: seq, data: "{}" });
    const oldest = 5_001 - RING_EVENTS_MAX;
    expect([ring.after(oldest, 5_001, 5_001)?.length, ring.after(oldest - 1, 5_001, 5_001)]).toEqual([
      RING_EVENTS_MAX,
      null,
    ]);
    const later = oldest + 1 + RING_AGE_MS;
    expect(ring.after(oldest, 5_001, later)).toHaveLength(RING_EVENTS_MAX);
    expect([ring.after(oldest, 5_001, later + 1), ring.after(5_001, 5_001, later)]).toEqual([null, []]);
    ring.clear();
    expect(ring.after(5_000, 5_001, later)).toBeNull();
  });
});

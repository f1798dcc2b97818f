import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { createNonceReservations } from "../../../engine/orders/durable/nonce-reservations.js";
import { createMemoryStore } from "../../../engine/storage/test/memory-store.js";
import { NonceSequencer } from "../../shared/orders/nonce-sequencer.js";
import { createVenueoneNonces } from "./nonces.js";

const SIGNER = "0x21cf8ae13bb72632562c6fff438652ba1a151bb0";
/** What a process reserves before it has lived at all, and what the clock may show while it does. */
const FIRST_MS = 1_100;

/** A life: so long, with an order every so many ms; then the process is killed. */
interface Life {
  readonly ms: number;
  readonly everyMs: number;
}

/** The furthest ahead of the clock that any nonce was, ms; throws for a nonce that is given twice. */
async function furthestAhead(lives: readonly Life[], create = createVenueoneNonces): Promise<number> {
  const clock = new VirtualClock(1_790_000_000_000);
  const store = createMemoryStore();
  const seen = new Set<number>();
  let aheadMs = 0;
  for (const { ms, everyMs } of lives) {
    const nonces = create(clock, createNonceReservations(store), () => 0);
    for (let livedMs = 0; livedMs <= ms; livedMs += everyMs) {
      const next = await nonces.next(SIGNER);
      if (!next.ok) throw new Error(`${next.problem} ${next.retryAfterMs}`);
      if (seen.has(next.nonce)) throw new Error(`${next.nonce} twice`);
      seen.add(next.nonce);
      aheadMs = Math.max(aheadMs, next.nonce - clock.wallMs());
      await clock.advanceAsync(everyMs);
    }
  }
  return aheadMs;
}

/** Reserves a whole block at each start, as if every process lived for long. */
const BLOCKWISE: typeof createVenueoneNonces = (clock, reservations, clockOffsetMs) =>
  new NonceSequencer({
    clock,
    reservations,
    unitsPerMs: 1,
    blockMs: 60_000,
    maxAheadMs: 12 * 3_600_000,
    clockOffsetMs,
  });

describe("nonces of venueone over restarts", () => {
  it("run ahead no further after two thousand kills than after one", async () => {
    const lives = Array.from({ length: 2_000 }, () => ({ ms: 2_000, everyMs: 500 }));
    expect(await furthestAhead(lives)).toBeLessThanOrEqual(1.5 * 2_000 + FIRST_MS);
  });

  it("are seen to run away where each start reserves a whole block, by how far they are ahead alone", async () => {
    const lives = Array.from({ length: 100 }, () => ({ ms: 2_000, everyMs: 500 }));
    // None of them was given twice, or refused: nothing else is to be seen.
    expect(await furthestAhead(lives, BLOCKWISE)).toBeGreaterThan(100 * 55_000);
  });

  it("run ahead by about as long as one life before lasted, and by a block and a half at most", async () => {
    for (const ms of [1_200, 10_000, 90_000, 600_000])
      expect(
        [
          ms,
          await furthestAhead([
            { ms, everyMs: 400 },
            { ms: 0, everyMs: 1_000 },
          ]),
        ],
        String(ms),
      ).toEqual([ms, expect.toSatisfy((aheadMs: number) => aheadMs <= 1.5 * Math.min(ms, 60_000) + FIRST_MS)]);
  });

  it("are never given twice and never run away, however long the lives and dense the orders", async () => {
    const life = fc.record({ ms: fc.integer({ min: 1_100, max: 40_000 }), everyMs: fc.constantFrom(20, 250, 2_500) });
    await fc.assert(
      fc.asyncProperty(fc.array(life, { minLength: 5, maxLength: 20 }), async (lives) => {
        const longestMs = Math.max(...lives.map(({ ms }) => ms));
        expect(await furthestAhead(lives)).toBeLessThanOrEqual(1.5 * longestMs + 2 * FIRST_MS);
      }),
      { numRuns: 30, seed: 20_261_123 },
    );
  });

  it("are given after one write, however slow, to all who wait for it, none twice", async () => {
    const clock = new VirtualClock(1_790_000_000_000);
    let writeCount = 0;
    const marks = createNonceReservations(createMemoryStore());
    const slow = {
      reserve: async (...call: Parameters<typeof marks.reserve>) => {
        writeCount++;
        const block = await marks.reserve(...call);
        await new Promise<void>((resolve) => clock.setTimer(resolve, 20_000));
        return block;
      },
    };
    const nonces = createVenueoneNonces(clock, slow, () => 0);
    const waiting = Array.from({ length: 50 }, () => nonces.next(SIGNER));
    await clock.advanceAsync(20_000);
    const taken = (await Promise.all(waiting)).map((next) => (next.ok ? next.nonce : 0));
    expect(writeCount).toBe(1);
    expect(new Set(taken).size).toBe(50);
    expect(Math.min(...taken)).toBeGreaterThan(clock.wallMs() - 21_000);
  });

  it("are at hand without a write for every order of a process that has lived for a while", async () => {
    const clock = new VirtualClock(1_790_000_000_000);
    let writeCount = 0;
    const marks = createNonceReservations(createMemoryStore());
    const counted = {
      reserve: (...call: Parameters<typeof marks.reserve>) => {
        writeCount++;
        return marks.reserve(...call);
      },
    };
    const nonces = createVenueoneNonces(clock, counted, () => 0);
    for (let second = 0; second < 600; second++) {
      expect(await nonces.next(SIGNER)).toMatchObject({ ok: true });
      await clock.advanceAsync(1_000);
    }
    expect(writeCount).toBeLessThan(20);
  });
});

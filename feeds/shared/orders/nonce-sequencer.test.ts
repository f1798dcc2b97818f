import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { NonceReservations } from "../../../engine/ports.js";
import { NonceSequencer, type NonceSequencerOptions } from "./nonce-sequencer.js";

/** Durable high-water marks as a store keeps them; the write takes `latencyMs` of the virtual clock. */
class FakeReservations implements NonceReservations {
  readonly highWater = new Map<string, number>();
  callCount = 0;
  failNext = 0;

  constructor(
    readonly clock: VirtualClock,
    readonly latencyMs = 1,
  ) {}

  reserve(signer: string, floor: number, span: number): Promise<{ from: number; until: number }> {
    this.callCount++;
    if (this.failNext > 0) {
      this.failNext--;
      return Promise.reject(new Error("disk full"));
    }
    const from = Math.max(floor, this.highWater.get(signer) ?? 0);
    const until = from + span;
    this.highWater.set(signer, until);
    return new Promise((resolve) => this.clock.setTimer(() => resolve({ from, until }), this.latencyMs));
  }
}

function setup(options: Partial<NonceSequencerOptions> = {}) {
  const clock = new VirtualClock();
  const reservations = new FakeReservations(clock);
  const sequencer = new NonceSequencer({
    clock,
    reservations,
    unitsPerMs: 1,
    blockMs: 60_000,
    maxAheadMs: 3_600_000,
    clockOffsetMs: () => 0,
    ...options,
  });
  return { clock, reservations, sequencer };
}

async function take(clock: VirtualClock, sequencer: NonceSequencer, signer = "a"): Promise<number> {
  const promise = sequencer.next(signer);
  await clock.advanceAsync(5);
  const result = await promise;
  if (!result.ok) throw new Error(result.problem);
  return result.nonce;
}

describe("NonceSequencer", () => {
  it("gives 200 concurrent orders of one signer distinct, increasing numbers with one write", async () => {
    const { clock, reservations, sequencer } = setup();
    const startMs = clock.wallMs();
    const promises = Array.from({ length: 200 }, () => sequencer.next("a"));
    await clock.advanceAsync(2);
    const nonces = (await Promise.all(promises)).map((result) => (result.ok ? result.nonce : -1));
    expect(new Set(nonces).size).toBe(200);
    expect([...nonces].sort((left, right) => left - right)).toEqual(nonces);
    expect(nonces[0]).toBeGreaterThanOrEqual(startMs);
    expect(nonces.at(-1)).toBeLessThanOrEqual(startMs + 202);
    expect(reservations.callCount).toBe(1);
  });

  it("follows the clock when orders are slower than it, and counts the venue's clock, not ours", async () => {
    const { clock, sequencer } = setup({ clockOffsetMs: () => 1500 });
    const first = await take(clock, sequencer);
    clock.advance(1000);
    const second = await take(clock, sequencer);
    expect(first).toBeGreaterThanOrEqual(clock.wallMs() - 1010 + 1500);
    expect(second - first).toBeGreaterThanOrEqual(1000);
  });

  it("goes on increasing when the wall clock is set back", async () => {
    let offsetMs = 0;
    const { clock, sequencer } = setup({ clockOffsetMs: () => offsetMs });
    const first = await take(clock, sequencer);
    offsetMs = -10_000;
    expect(await take(clock, sequencer)).toBe(first + 1);
  });

  it("reserves the next block before the present one runs out, so that no later order waits", async () => {
    const { clock, reservations, sequencer } = setup({ blockMs: 1000 });
    await take(clock, sequencer);
    for (let round = 0; round < 50; round++) {
      clock.advance(100);
      let settled = false;
      const promise = sequencer.next("a").then((result) => {
        settled = true;
        return result;
      });
      // Microtasks only: no timer of the store may be needed.
      await Promise.resolve().then(() => undefined);
      await Promise.resolve();
      expect(settled).toBe(true);
      expect((await promise).ok).toBe(true);
      await clock.advanceAsync(2);
    }
    expect(reservations.callCount).toBeLessThan(15);
  });

  it("never repeats a number after a crash: a new process starts above all blocks of the old one", async () => {
    const { clock, reservations, sequencer } = setup();
    const before = await take(clock, sequencer);
    const restarted = new NonceSequencer({
      clock,
      reservations,
      unitsPerMs: 1,
      blockMs: 60_000,
      maxAheadMs: 3_600_000,
      clockOffsetMs: () => 0,
    });
    const after = await take(clock, restarted);
    expect(after).toBeGreaterThan(before);
    expect(after).toBeGreaterThanOrEqual(before + 59_000);
  });

  it("refuses numbers that the venue's window would refuse, and names when to try again", async () => {
    const { clock, reservations, sequencer } = setup({ unitsPerMs: 1000, blockMs: 3000, maxAheadMs: 8000 });
    reservations.highWater.set("a", (clock.wallMs() + 20_000) * 1000);
    const promise = sequencer.next("a");
    await clock.advanceAsync(2);
    expect(await promise).toEqual({ ok: false, problem: "AHEAD", retryAfterMs: 11_999 });
    clock.advance(11_999);
    expect((await sequencer.next("a")).ok).toBe(true);
  });

  it("answers STORE when the reservation fails, and works again once the store does", async () => {
    const { clock, reservations, sequencer } = setup();
    reservations.failNext = 1;
    expect(await sequencer.next("a")).toEqual({ ok: false, problem: "STORE", retryAfterMs: null });
    expect(await take(clock, sequencer)).toBeGreaterThan(0);
  });

  it("refuses a block that lies below its floor instead of handing out used numbers", async () => {
    const broken: NonceReservations = { reserve: () => Promise.resolve({ from: 1, until: 100 }) };
    const { sequencer } = setup({ reservations: broken });
    expect(await sequencer.next("a")).toEqual({ ok: false, problem: "STORE", retryAfterMs: null });
  });

  it("goes above a number that the venue remembers, but not beyond what the venue could accept", async () => {
    const { clock, sequencer } = setup();
    const first = await take(clock, sequencer);
    sequencer.raise("a", first + 500);
    expect(await take(clock, sequencer)).toBe(first + 501);
    sequencer.raise("a", first + 10_000_000_000);
    expect(await take(clock, sequencer)).toBe(first + 502);
  });

  it("forgets the least recently used signer at the bound, and the forgotten one gets fresh numbers", async () => {
    const { clock, sequencer } = setup({ maxSigners: 2 });
    const first = await take(clock, sequencer, "a");
    await take(clock, sequencer, "b");
    await take(clock, sequencer, "c");
    expect(sequencer.signerCount).toBe(2);
    expect(await take(clock, sequencer, "a")).toBeGreaterThan(first + 50_000);
  });

  it("warms a signer so that its first order does not wait", async () => {
    const { clock, reservations, sequencer } = setup();
    const warmed = sequencer.warm("a");
    await clock.advanceAsync(2);
    await warmed;
    const result = await sequencer.next("a");
    expect(result.ok).toBe(true);
    expect(reservations.callCount).toBe(1);
  });

  it("keeps numbers distinct and increasing per signer under any mix of orders, pauses, crashes and clock steps", async () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant("orders" as const),
        signer: fc.constantFrom("a", "b"),
        count: fc.integer({ min: 1, max: 40 }),
      }),
      fc.record({ kind: fc.constant("pause" as const), ms: fc.integer({ min: 1, max: 5000 }) }),
      fc.record({ kind: fc.constant("clock" as const), offsetMs: fc.integer({ min: -3000, max: 3000 }) }),
      fc.record({ kind: fc.constant("crash" as const) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 25 }), fc.boolean(), async (steps, isMicros) => {
        const clock = new VirtualClock();
        const reservations = new FakeReservations(clock);
        let offsetMs = 0;
        const options: NonceSequencerOptions = {
          clock,
          reservations,
          unitsPerMs: isMicros ? 1000 : 1,
          blockMs: 40,
          maxAheadMs: 1_000_000,
          clockOffsetMs: () => offsetMs,
          maxSigners: 1,
        };
        let sequencer = new NonceSequencer(options);
        const seen = new Map<string, number>();
        for (const current of steps) {
          if (current.kind === "pause") await clock.advanceAsync(current.ms);
          else if (current.kind === "clock") offsetMs = current.offsetMs;
          else if (current.kind === "crash") sequencer = new NonceSequencer(options);
          else {
            const promises = Array.from({ length: current.count }, () => sequencer.next(current.signer));
            await clock.advanceAsync(6);
            for (const result of await Promise.all(promises)) {
              if (!result.ok) throw new Error(result.problem);
              expect(result.nonce).toBeGreaterThan(seen.get(current.signer) ?? -1);
              seen.set(current.signer, result.nonce);
            }
          }
        }
      }),
      { numRuns: 60, seed: 20261121 },
    );
  });
});

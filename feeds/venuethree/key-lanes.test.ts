/** One key's transactions in turn, on a virtual clock and a venue that takes nonces in unbroken order only. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import type { Lane, Read } from "../../engine/ports.js";
import { failedRead } from "../shared/call-results.js";
import { KeyLanes } from "./key-lanes.js";

function nonceRead(value: number): Promise<Read<number>> {
  return Promise.resolve({ ok: true, value, asOfMs: 0, source: "venue" });
}

const never = (): Promise<Read<number>> => Promise.reject(new Error("asked"));
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
};

async function take(lanes: KeyLanes, load = never, lane: Lane = "trade", leftMs = 1_000) {
  const turn = await lanes.acquire("1:4", lane, () => leftMs, load);
  if (!turn.ok) throw new Error(turn.code);
  return turn.value;
}

describe("KeyLanes", () => {
  it("asks for the nonce once, then counts by itself", async () => {
    const lanes = new KeyLanes({ clock: new VirtualClock() });
    const first = await take(lanes, () => nonceRead(42));
    expect(first.nonce).toBe(42);
    first.end(43);
    const second = await take(lanes);
    expect(second.nonce).toBe(43);
    second.end(43);
    expect((await take(lanes)).nonce).toBe(43);
  });

  it("asks again after doubt, and takes what the venue says, lower or higher", async () => {
    const lanes = new KeyLanes({ clock: new VirtualClock() });
    (await take(lanes, () => nonceRead(10))).end(null);
    const turn = await take(lanes, () => nonceRead(9));
    expect(turn.nonce).toBe(9);
    turn.end(null);
    expect((await take(lanes, () => nonceRead(50))).nonce).toBe(50);
  });

  it("lets the next go only when the turn ended, exits first, then in order of arrival", async () => {
    const lanes = new KeyLanes({ clock: new VirtualClock() });
    const first = await take(lanes, () => nonceRead(1));
    const order: string[] = [];
    const wait = async (name: string, lane: Lane): Promise<void> => {
      const turn = await take(lanes, never, lane);
      order.push(`${name}${turn.nonce}`);
      turn.end(turn.nonce + 1);
    };
    const all = [wait("a", "trade"), wait("b", "background"), wait("c", "exit"), wait("d", "exit"), wait("e", "trade")];
    await settle();
    expect(order).toEqual([]);
    first.end(2);
    await Promise.all(all);
    expect(order).toEqual(["c2", "d3", "a4", "e5", "b6"]);
  });

  it("a second end of one turn does nothing", async () => {
    const lanes = new KeyLanes({ clock: new VirtualClock() });
    const first = await take(lanes, () => nonceRead(1));
    first.end(2);
    const second = await take(lanes);
    first.end(7);
    const third = lanes.acquire("1:4", "trade", () => 1_000, never);
    await settle();
    second.end(3);
    expect(await third).toMatchObject({ ok: true, value: { nonce: 3 } });
  });

  it("gives up waiting in time, and does not keep the turn from the others", async () => {
    const clock = new VirtualClock();
    const lanes = new KeyLanes({ clock });
    const first = await take(lanes, () => nonceRead(1));
    const late = lanes.acquire("1:4", "trade", () => 100, never);
    const patient = lanes.acquire("1:4", "trade", () => 1_000, never);
    clock.advance(101);
    expect(await late).toMatchObject({ ok: false, code: "TIMEOUT" });
    first.end(2);
    expect(await patient).toMatchObject({ ok: true, value: { nonce: 2 } });
    expect(await lanes.acquire("1:4", "trade", () => 0, never)).toMatchObject({ ok: false, code: "TIMEOUT" });
  });

  it("refuses what is too much, and keys do not wait for each other", async () => {
    const lanes = new KeyLanes({ clock: new VirtualClock(), maxWaiting: 1 });
    await take(lanes, () => nonceRead(1));
    void lanes.acquire("1:4", "trade", () => 1_000, never);
    expect(await lanes.acquire("1:4", "exit", () => 1_000, never)).toMatchObject({ ok: false, code: "RATE_LIMITED" });
    expect(
      await lanes.acquire(
        "2:4",
        "trade",
        () => 1_000,
        () => nonceRead(5),
      ),
    ).toMatchObject({ ok: true });
  });

  it.each([
    ["fails", () => Promise.resolve(failedRead("TIMEOUT", "no answer"))],
    ["throws", () => Promise.reject(new Error("broken"))],
  ])("hands the turn on when the nonce's read %s", async (_what, load) => {
    const lanes = new KeyLanes({ clock: new VirtualClock() });
    const failing = lanes.acquire("1:4", "trade", () => 1_000, load);
    const next = lanes.acquire(
      "1:4",
      "trade",
      () => 1_000,
      () => nonceRead(3),
    );
    expect(await failing).toMatchObject({ ok: false });
    expect(await next).toMatchObject({ ok: true, value: { nonce: 3 } });
  });

  it("takes a hint only where it knows nothing better", async () => {
    const lanes = new KeyLanes({ clock: new VirtualClock() });
    lanes.hint("1:4", 42);
    const turn = await take(lanes);
    expect(turn.nonce).toBe(42);
    lanes.hint("1:4", 42);
    turn.end(43);
    lanes.hint("1:4", 42);
    expect((await take(lanes)).nonce).toBe(43);
  });

  it("forgets the key used longest ago, never a busy one", async () => {
    const lanes = new KeyLanes({ clock: new VirtualClock(), maxKeys: 2 });
    await lanes.acquire(
      "busy",
      "trade",
      () => 1_000,
      () => nonceRead(1),
    );
    for (const key of ["a", "b", "c"]) {
      const turn = await lanes.acquire(
        key,
        "trade",
        () => 1_000,
        () => nonceRead(1),
      );
      if (turn.ok) turn.value.end(2);
    }
    expect(lanes.keyCount).toBe(2);
    const waiting = lanes.acquire("busy", "trade", () => 10, never);
    expect(await Promise.race([waiting, settle().then(() => "waits")])).toBe("waits");
  });

  it("whatever becomes of each transaction, the venue executes every nonce once and in order", async () => {
    const fate = fc.constantFrom("accepted", "refused", "lost before", "lost after", "foreign");
    await fc.assert(
      fc.asyncProperty(
        fc.array(fate, { minLength: 1, maxLength: 60 }),
        fc.integer({ min: 0, max: 99 }),
        async (fates, start) => {
          const lanes = new KeyLanes({ clock: new VirtualClock() });
          let venueNext = start;
          const executed: number[] = [];
          const execute = (nonce: number): boolean => {
            if (nonce !== venueNext) return false;
            executed.push(nonce);
            venueNext++;
            return true;
          };
          const run = async (kind: string): Promise<void> => {
            const turn = await take(lanes, () => nonceRead(venueNext));
            // Another program of the same key.
            if (kind === "foreign") execute(venueNext);
            if (kind === "refused") turn.end(turn.nonce);
            else if (kind === "lost before") turn.end(null);
            else if (kind === "lost after") {
              execute(turn.nonce);
              turn.end(null);
            } else turn.end(execute(turn.nonce) ? turn.nonce + 1 : null);
          };
          await Promise.all(fates.map(run));
          expect(executed).toEqual(executed.map((_, index) => start + index));
          // One that met a foreign nonce was refused by the venue, and is signed anew by the sender: not here.
          const refusedCount = fates.filter((kind) => kind === "refused" || kind === "lost before").length;
          expect(executed).toHaveLength(fates.length - refusedCount);
        },
      ),
      { numRuns: 60 },
    );
  });
});

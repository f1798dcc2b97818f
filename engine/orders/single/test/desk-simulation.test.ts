/** `FUZZ_SEED` replays one seed, `FUZZ_RUNS` sets how many follow it: `FUZZ_RUNS=200` is a long run. */
import { describe, expect, it, vi } from "vitest";
import type { VenueRoom } from "../../../ports.js";
import type { StateStore } from "../../../storage/state-store.js";
import { UnsettledOrders } from "../unsettled-orders.js";
import { simulateDesk, type DeskSimulationOptions } from "./desk-simulation.js";

const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 41_000);
const RUNS = Number(process.env.FUZZ_RUNS ?? 12);
const CALLERS = 40;

async function violationTexts(options: Partial<DeskSimulationOptions>, runs = 3): Promise<string> {
  const texts: string[] = [];
  for (let run = 0; run < runs; run++)
    texts.push(...(await simulateDesk({ seed: FIRST_SEED + run, callerCount: CALLERS, ...options })).violations);
  return texts.join("\n");
}

function withPlace(place: (room: VenueRoom) => VenueRoom["orders"]["place"]): (room: VenueRoom) => VenueRoom {
  return (room) => ({ ...room, orders: { ...room.orders, place: place(room) } });
}

describe("single orders through faults and crashes", () => {
  const seen = new Map<string, number>();
  it.each(Array.from({ length: RUNS }, (_, run) => FIRST_SEED + run))(
    "hold their invariants with seed %i",
    async (seed) => {
      const report = await simulateDesk({ seed, callerCount: CALLERS });
      expect(report.violations, `FUZZ_SEED=${seed} FUZZ_RUNS=1`).toEqual([]);
      expect(report.secretLeaks).toEqual([]);
      expect(report.openSessionCount).toBe(0);
      expect(report.orderCount).toBeGreaterThan(CALLERS / 4);
      for (const [what, count] of report.seen) seen.set(what, (seen.get(what) ?? 0) + count);
    },
    60_000,
  );

  it("reach every kind of end", () => {
    const wanted = [
      "UNKNOWN UNKNOWN",
      "CONFIRMED FILLED",
      "CONFIRMED CANCELED",
      "CONFIRMED OPEN",
      "VENUE_REJECTED",
      "FAILED_TO_PLACE_ORDER",
      "VENUE_UNAVAILABLE",
      "ENDED_LATER",
    ];
    expect(
      wanted.filter((what) => !seen.has(what)),
      JSON.stringify([...seen]),
    ).toEqual([]);
  });

  it("replay from their seed", async () => {
    const [first, second] = [
      await simulateDesk({ seed: 7, callerCount: 20 }),
      await simulateDesk({ seed: 7, callerCount: 20 }),
    ];
    expect([...first.seen].sort()).toEqual([...second.seen].sort());
    expect([first.orderCount, first.crashCount]).toEqual([second.orderCount, second.crashCount]);
    expect(first.crashCount).toBeGreaterThan(0);
  });
});

describe("the judge", () => {
  it("catches a collaborator that repeats an order of unknown outcome", async () => {
    const blindRetry = withPlace((room) => async (session, command, options) => {
      const first = await room.orders.place(session, command, options);
      if (first.outcome !== "unknown") return first;
      const clientIdHex = command.clientIdHex.slice(0, 31) + (command.clientIdHex.endsWith("0") ? "1" : "0");
      return room.orders.place(session, { ...command, clientIdHex }, options);
    });
    expect(await violationTexts({ mutateRoom: blindRetry })).toContain(
      "sent while the outcome of an earlier one was unknown",
    );
  });

  it("catches an order that lost its reduce-only flag, its side or its size", async () => {
    const notReduceOnly = withPlace(
      (room) => (session, command, options) => room.orders.place(session, { ...command, reduceOnly: false }, options),
    );
    expect(await violationTexts({ mutateRoom: notReduceOnly }, 1)).toContain("reduceOnly false on a");
    const flipped = withPlace(
      (room) => (session, command, options) =>
        room.orders.place(session, { ...command, side: command.side === "BUY" ? "SELL" : "BUY" }, options),
    );
    expect(await violationTexts({ mutateRoom: flipped }, 1)).toContain("side SELL on a MARKET");
    const doubled = withPlace(
      (room) => (session, command, options) =>
        room.orders.place(session, { ...command, qtyLots: command.qtyLots * 2 }, options),
    );
    expect(await violationTexts({ mutateRoom: doubled }, 1)).toMatch(/lots sent of/);
  });

  it("catches a store that forgets idempotency records", async () => {
    const forgetful = (store: StateStore): StateStore => ({
      ...store,
      get: async (namespace, key) => (namespace === "order-idempotency" ? null : store.get(namespace, key)),
      commit: (batch) => store.commit({ writes: batch.writes }),
    });
    expect(await violationTexts({ mutateStore: forgetful })).toMatch(
      /earlier one was unknown|a client id was sent twice|orders were executed for one key|lots executed of/,
    );
  });

  it("catches a collaborator that says no of an order whose outcome is unknown", async () => {
    const hasty = withPlace((room) => async (session, command, options) => {
      const outcome = await room.orders.place(session, command, options);
      if (outcome.outcome !== "unknown") return outcome;
      return {
        outcome: "rejected",
        reason: "VENUE_STATE",
        venueCode: "",
        venueText: "",
        sent: true,
        retryAfterMs: null,
      };
    });
    expect(await violationTexts({ mutateRoom: hasty })).toContain("refused as VENUE_REJECTED, and executed");
  });

  it("catches an end that is reported again while the store takes it, and misses it without that check", async () => {
    const remove = vi.spyOn(UnsettledOrders.prototype, "removeWhile").mockImplementation(async function (
      this: UnsettledOrders,
      run,
      storing,
    ) {
      this.remove(run);
      await storing;
    });
    try {
      expect(await violationTexts({}, 5)).toMatch(/its end was reported \d times by one process/);
      expect(await violationTexts({ blind: ["ENDS_ONCE"] }, 5)).toBe("");
    } finally {
      remove.mockRestore();
    }
  });

  it("catches a usage row that is lost", async () => {
    const leaky = (store: StateStore): StateStore => ({
      ...store,
      commit: (batch) =>
        store.commit({ ...batch, writes: batch.writes.filter(({ namespace }) => namespace !== "guard-usage") }),
    });
    expect(await violationTexts({ mutateStore: leaky }, 1)).toContain("not counted");
  });
});

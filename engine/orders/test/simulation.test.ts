/**
 * Thousands of closes through faults and crashes, judged by the venues' logs; and planted faults that the judge must
 * see. Replay one seed: FUZZ_SEED=<seed> FUZZ_RUNS=1 npx vitest run engine/orders/test/simulation.test.ts
 */
import { describe, expect, it } from "vitest";
import type { VenueRoom } from "../../ports.js";
import type { StateStore } from "../../storage/state-store.js";
import { STORE_TIMEOUT_MS } from "../close-context.js";
import { INDEXING_LAG_MS } from "../resolver.js";
import { runSimulation, type SimulationOptions } from "./simulation.js";

const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 20_260_901);
const RUNS = Number(process.env.FUZZ_RUNS ?? 44);
const CLOSES_PER_RUN = 50;

describe("the close path in a storm", () => {
  it(`keeps its invariants over ${RUNS * CLOSES_PER_RUN} closes with faults and crashes`, async () => {
    const seen = new Map<string, number>();
    let crashes = 0;
    let orders = 0;
    for (let run = 0; run < RUNS; run++) {
      const seed = FIRST_SEED + run;
      const report = await runSimulation({ seed, closeCount: CLOSES_PER_RUN });
      expect({
        seed,
        violations: report.violations,
        leaks: report.secretLeaks,
        openSessions: report.openSessionCount,
      }).toEqual({ seed, violations: [], leaks: [], openSessions: 0 });
      crashes += report.crashCount;
      orders += report.orderCount;
      for (const [what, count] of report.seen) seen.set(what, (seen.get(what) ?? 0) + count);
    }
    process.stdout.write(
      `simulation: ${RUNS * CLOSES_PER_RUN} closes, ${orders} orders, ${crashes} crashes, ${JSON.stringify(Object.fromEntries(seen))}\n`,
    );
    if (RUNS < 20) return;
    // The storm must have reached every state, or it proves little.
    for (const state of ["COMPLETED", "PARTIAL", "UNKNOWN", "REJECTED", "NOOP", "SUBMITTED", "ASKED"])
      expect([state, (seen.get(state) ?? 0) > 0]).toEqual([state, true]);
    expect(crashes).toBeGreaterThan(RUNS);
  }, 300_000);

  it("replays exactly from its seed", async () => {
    const [first, second] = [
      await runSimulation({ seed: FIRST_SEED, closeCount: 20 }),
      await runSimulation({ seed: FIRST_SEED, closeCount: 20 }),
    ];
    expect([...first.seen].sort()).toEqual([...second.seen].sort());
    expect([first.orderCount, first.replyCount, first.crashCount]).toEqual([
      second.orderCount,
      second.replyCount,
      second.crashCount,
    ]);
  }, 60_000);
});

describe("the checker", () => {
  it("catches a collaborator that repeats an order of unknown outcome", async () => {
    const blindRetry = (room: VenueRoom): VenueRoom => ({
      ...room,
      orders: {
        ...room.orders,
        async place(session, command, options) {
          const first = await room.orders.place(session, command, options);
          if (first.outcome !== "unknown") return first;
          const again = command.clientIdHex.slice(0, 31) + (command.clientIdHex.endsWith("0") ? "1" : "0");
          return room.orders.place(session, { ...command, clientIdHex: again }, options);
        },
      },
    });
    expect(await violationTexts({ mutateRoom: blindRetry })).toContain(
      "sent while the outcome of an earlier one was unknown",
    );
  }, 60_000);

  it("catches an order that lost its reduce-only flag", async () => {
    const notReduceOnly = (room: VenueRoom): VenueRoom => ({
      ...room,
      orders: {
        ...room.orders,
        place: (session, command, options) => room.orders.place(session, { ...command, reduceOnly: false }, options),
      },
    });
    expect(await violationTexts({ mutateRoom: notReduceOnly })).toContain("not reduce-only");
  }, 60_000);

  it("catches a store that forgets idempotency records", async () => {
    const forgetful = (store: StateStore): StateStore => ({
      ...store,
      get: async (namespace, key) => (namespace === "idempotency" ? null : store.get(namespace, key)),
      commit: (batch) => store.commit({ writes: batch.writes }),
      compareAndSet: async (namespace, key, expected, value) => {
        if (namespace !== "idempotency") return store.compareAndSet(namespace, key, expected, value);
        return true;
      },
    });
    const texts = await violationTexts({ mutateStore: forgetful });
    expect(texts).toMatch(/a client id was sent twice|lots executed of|exceed what was left|unknown/);
  }, 60_000);

  it("catches a room that understates how long its orders may be taken", async () => {
    const hopeful = (room: VenueRoom): VenueRoom => ({
      ...room,
      orders: { ...room.orders, placeBoundMs: () => -STORE_TIMEOUT_MS - INDEXING_LAG_MS },
    });
    // Only a crash between the send and its answer leaves nothing but that bound.
    expect(await violationTexts({ mutateRoom: hopeful }, 12)).toContain(
      "sent while the outcome of an earlier one was unknown",
    );
  }, 60_000);

  it("catches a reader that says an order does not exist before that is certain", async () => {
    const hasty = (room: VenueRoom): VenueRoom => ({
      ...room,
      orders: {
        ...room.orders,
        async place(session, command, options) {
          const outcome = await room.orders.place(session, command, options);
          return outcome.outcome === "unknown"
            ? {
                outcome: "rejected",
                reason: "VENUE_STATE",
                venueCode: "",
                venueText: "",
                sent: true,
                retryAfterMs: null,
              }
            : outcome;
        },
      },
    });
    const texts = await violationTexts({ mutateRoom: hasty });
    expect(texts).toContain("sent while the outcome of an earlier one was unknown");
    expect(texts).toContain("reported as not executed");
  }, 60_000);
});

async function violationTexts(options: Partial<SimulationOptions>, runs = 3): Promise<string> {
  const texts: string[] = [];
  for (let run = 0; run < runs; run++)
    texts.push(...(await runSimulation({ seed: FIRST_SEED + run, closeCount: 40, ...options })).violations);
  return texts.join("\n");
}

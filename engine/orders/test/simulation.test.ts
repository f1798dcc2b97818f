/**
 * Closes and opens, some of them split, through faults and crashes, judged by the venues' logs; and planted faults that
 * the judge must see. 1,000 trades in the usual run, ten thousand with TRADES=10000. Replay one seed:
 * FUZZ_SEED=<seed> FUZZ_RUNS=1 npx vitest run engine/orders/test/simulation.test.ts
 */
import { describe, expect, it, vi } from "vitest";
import type { VenueRoom } from "../../ports.js";
import type { StateStore } from "../../storage/state-store.js";
import { STORE_TIMEOUT_MS } from "../limits.js";
import { INDEXING_LAG_MS, NO_PROOF_OF_ABSENCE, type AbsenceBound } from "../send/absence-proof.js";
import { ExecutionRegistry } from "../durable/execution-registry.js";
import { Resolver, type UnknownOrder } from "../send/resolver.js";
import type { FakeVenue } from "./fake-venue.js";
import type { OrderCommand } from "../../domain/order.js";
import type { TradeRequest } from "../types.js";
import { testHash } from "./harness.js";
import { runSimulation, type SimulationOptions, type TradeCheck, type Weather } from "./simulation.js";

/** A look-up of a request, as the planted fault has it: an order that is not shown was never placed. */
const planted = vi.hoisted((): { hasty: "findEnd" | "findAside" | null } => ({ hasty: null }));

vi.mock(import("../follow/order-finder.js"), async (load) => {
  const finder = await load();
  const hasty = <Sought extends { readonly order: UnknownOrder }>(sought: Sought): Sought => ({
    ...sought,
    order: { ...sought.order, bound: () => ({ venueMs: 0, monoNs: 0 }) },
  });
  return {
    ...finder,
    findEnd: (parts, sought, by, readPrice) =>
      finder.findEnd(parts, planted.hasty === "findEnd" ? hasty(sought) : sought, by, readPrice),
    findAside: (parts, asked) => finder.findAside(parts, planted.hasty === "findAside" ? hasty(asked) : asked),
  };
});

const FIRST_SEED = Number(process.env.FUZZ_SEED ?? 20_260_901);
const TRADES_PER_RUN = 50;
const RUNS = Number(process.env.FUZZ_RUNS ?? Math.ceil(Number(process.env.TRADES ?? 600) / TRADES_PER_RUN));
/** Enough for the rare meetings of a fault, a crash and the weather. */
const MUTANT_RUNS = 20;

describe("the trade path in a storm", () => {
  it(`keeps its invariants over ${RUNS * TRADES_PER_RUN} closes and opens with faults and crashes`, async () => {
    const seen = new Map<string, number>();
    const outcomes = new Map<string, number>();
    const add = (to: Map<string, number>, from: ReadonlyMap<string, number>): void => {
      for (const [what, count] of from) to.set(what, (to.get(what) ?? 0) + count);
    };
    let crashes = 0;
    let orders = 0;
    for (let run = 0; run < RUNS; run++) {
      const seed = FIRST_SEED + run;
      const report = await runSimulation({ seed, tradeCount: TRADES_PER_RUN });
      expect({
        seed,
        violations: report.violations,
        leaks: report.secretLeaks,
        openSessions: report.openSessionCount,
      }).toEqual({ seed, violations: [], leaks: [], openSessions: 0 });
      crashes += report.crashCount;
      orders += report.orderCount;
      add(seen, report.seen);
      add(outcomes, report.outcomes);
    }
    const trades = RUNS * TRADES_PER_RUN;
    process.stdout.write(
      `simulation: ${trades} trades, ${orders} orders, ${crashes} crashes; trades by outcome ${JSON.stringify(Object.fromEntries(outcomes))}; replies ${JSON.stringify(Object.fromEntries(seen))}\n`,
    );
    if (RUNS < 20) return;
    // The storm must have reached every state, or it proves little.
    for (const state of ["UNKNOWN", "PARTIAL", "REJECTED", "NOOP"])
      expect([state, (outcomes.get(state) ?? 0) >= 0.05 * trades]).toEqual([state, true]);
    for (const state of [
      "COMPLETED",
      "SUBMITTED",
      "ASKED",
      "SPLIT",
      "OPEN",
      "LEVERAGE_NOT_SET",
      "OTHER_BODY",
      "NEXT_DAY",
    ])
      expect([state, (seen.get(state) ?? 0) > 0]).toEqual([state, true]);
    for (const protection of ["PLACED", "PARTIAL", "FAILED", "UNKNOWN", "NOT_PLACED"])
      expect([protection, (seen.get(`PROTECTION_${protection}`) ?? 0) > 0]).toEqual([protection, true]);
    expect(crashes).toBeGreaterThan(RUNS);
  }, 600_000);

  it("replays exactly from its seed", async () => {
    const [first, second] = [
      await runSimulation({ seed: FIRST_SEED, tradeCount: 20 }),
      await runSimulation({ seed: FIRST_SEED, tradeCount: 20 }),
    ];
    expect([...first.seen].sort()).toEqual([...second.seen].sort());
    expect([first.orderCount, first.replyCount, first.crashCount]).toEqual([
      second.orderCount,
      second.replyCount,
      second.crashCount,
    ]);
  });
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
  });

  it("catches an order that lost its reduce-only flag", async () => {
    const notReduceOnly = (room: VenueRoom): VenueRoom => ({
      ...room,
      orders: {
        ...room.orders,
        place: (session, command, options) => room.orders.place(session, { ...command, reduceOnly: false }, options),
      },
    });
    expect(await violationTexts({ mutateRoom: notReduceOnly })).toContain("not reduce-only");
  });

  it("catches a size that is not clamped to the position", async () => {
    const doubled = (room: VenueRoom): VenueRoom => ({
      ...room,
      orders: {
        ...room.orders,
        place: (session, command, options) =>
          room.orders.place(session, { ...command, qtyLots: command.qtyLots * 2 }, options),
      },
    });
    const texts = await violationTexts({ mutateRoom: doubled });
    expect(texts).toContain("lots exceed the position");
    expect(texts).toContain("lots exceed what was left");
  });

  it("catches a signer that uses a nonce again", async () => {
    const stuck = (venue: FakeVenue): void => {
      const next = venue.nextNonce;
      // After a restart the counter would begin below its mark.
      venue.nextNonce = (account) => Math.ceil(next(account) / 2);
    };
    expect(await violationTexts({ mutateVenue: stuck })).toMatch(/nonce \d+ was used twice/);
  });

  it("catches an order of the other side", async () => {
    const flipped = (room: VenueRoom): VenueRoom => ({
      ...room,
      orders: {
        ...room.orders,
        place: (session, command, options) =>
          room.orders.place(session, { ...command, side: command.side === "BUY" ? "SELL" : "BUY" }, options),
      },
    });
    const texts = await violationTexts({ mutateRoom: flipped });
    expect(texts).toMatch(/side (BUY|SELL) does not close a (LONG|SHORT)/);
    expect(texts).toMatch(/side (BUY|SELL) does not open a (LONG|SHORT)/);
  });

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
  });

  it("catches a room that understates how long its orders may be taken", async () => {
    const hopeful = (room: VenueRoom): VenueRoom => ({
      ...room,
      orders: { ...room.orders, placeBoundMs: () => -STORE_TIMEOUT_MS - INDEXING_LAG_MS },
    });
    // Only a crash between the send and its answer leaves nothing but that bound.
    await runsUntil(
      /sent while the outcome of an earlier one was unknown|lots executed of/,
      () => ({ mutateRoom: hopeful }),
      2 * MUTANT_RUNS,
      3,
    );
  });

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
  });
});

describe("the checker, of a look-up that takes a missing order for one that was never placed,", () => {
  it.each([
    ["findEnd", 3],
    ["findAside", 13],
  ] as const)("catches %s", async (hasty, from) => {
    planted.hasty = hasty;
    try {
      await runsUntil(
        /sent while the outcome of an earlier one was unknown|lots executed of|reported as not executed|but \d+ lots were/,
        () => ({}),
        2 * MUTANT_RUNS,
        from,
      );
    } finally {
      planted.hasty = null;
    }
  });
});

describe("the checker, of what a storm alone can show,", () => {
  const believingAnyOrder = (): ((room: VenueRoom) => VenueRoom) => {
    const sent = new Map<string, OrderCommand>();
    return (room) => ({
      ...room,
      orders: {
        ...room.orders,
        place: (session, command, options) => {
          sent.set(command.clientIdHex, command);
          return room.orders.place(session, command, options);
        },
      },
      reader: {
        ...room.reader,
        async readOrder(session, instrument, ref, options) {
          const read = await room.reader.readOrder(session, instrument, ref, options);
          const command = "clientIdHex" in ref ? sent.get(ref.clientIdHex) : undefined;
          if (!read.ok || read.value === null || command === undefined) return read;
          const { side, qtyLots } = command;
          return { ...read, value: { ...read.value, side, qtyLots, tsVenueMs: 0 } };
        },
      },
    });
  };
  const onOurWallClock = (venue: FakeVenue): void => {
    venue.knownTimeMs = () => Math.max(venue.nowMs(), venue.clock.wallMs());
  };
  /** Of a key alone, whenever it is used. */
  const idsOfKeys = (): Partial<SimulationOptions> => ({
    nextDayShare: 1,
    overrides: {
      hash: {
        ...testHash,
        hmacHex: (purpose, parts) =>
          testHash.hmacHex(purpose, purpose === "client-id" ? parts.filter((_, index) => index !== 2) : parts),
      },
    },
  });
  const preferredAlone = (request: TradeRequest): TradeRequest => {
    const { preferredExchange, credentials } = request;
    if (preferredExchange === null) return request;
    return { ...request, credentials: { [preferredExchange]: credentials[preferredExchange] } };
  };
  it.each<[string, () => Partial<SimulationOptions>, Weather, number, RegExp, number]>([
    [
      "a proof by our own wall clock",
      () => ({ mutateVenue: onOurWallClock }),
      "CLOCK_STEPS",
      2 * MUTANT_RUNS,
      /sent while the outcome of an earlier one was unknown|lots executed of|but \d+ lots were/,
      3,
    ],
    [
      "another order that is believed",
      () => ({ mutateRoom: believingAnyOrder() }),
      "OTHER_ORDERS",
      MUTANT_RUNS,
      /but \d+ lots were|lots executed of|earlier one was unknown/,
      4,
    ],
    [
      "a key whose scope is the preferred account",
      () => ({ mutateRequest: preferredAlone }),
      "PREFERENCES",
      MUTANT_RUNS,
      /lots executed of|exceed what was left|a client id was sent twice|but \d+ lots were|earlier one was unknown/,
      0,
    ],
    ["a key that names the orders of the day before", idsOfKeys, "NEXT_DAY", 3, /next day: a\d+: UNKNOWN/, 0],
  ])(
    "catches %s, and misses it in a storm without",
    async (_, mutant, weather, runs, text, from) => {
      const seenAfter = await runsUntil(text, mutant, runs, from);
      expect(await violationTexts({ ...mutant(), without: [weather] }, seenAfter, from)).toBe("");
    },
    300_000,
  );
});

describe("the checker, without one of its checks, misses", () => {
  /** What works for longer than the resolver looks works for ever. */
  const showingNoEnd = (venue: FakeVenue): void => {
    const { fate } = venue;
    venue.fate = (command, account) => {
      const decided = fate(command, account);
      return decided.workingMs === undefined ? decided : { ...decided, workingMs: 30 * 86_400_000 };
    };
  };
  const losingEveryTenthTaken = (venue: FakeVenue): void => {
    const { fate } = venue;
    let taken = 0;
    venue.fate = (command, account) => {
      const decided = fate(command, account);
      if (decided.kind === "fill") taken++;
      return decided.kind === "fill" && taken % 10 === 0 ? { kind: "drop", latencyMs: 20 } : decided;
    };
  };
  const takingOrdersForAMinute = (venue: FakeVenue): void => {
    venue.validityMs = 63_000;
  };
  it.each<[string, TradeCheck[], () => Partial<SimulationOptions>, RegExp, number]>([
    [
      "a resolver that gives up before the bound of its order",
      ["ENDS"],
      () => {
        const { resolve } = Resolver.prototype;
        vi.spyOn(Resolver.prototype, "resolve").mockImplementation(function (this: Resolver, order, session) {
          let isFirst = true;
          const bound = (): AbsenceBound | null => {
            const first = isFirst;
            isFirst = false;
            return first ? null : order.bound();
          };
          return resolve.call(this, { ...order, bound }, session);
        });
        return { mutateVenue: takingOrdersForAMinute };
      },
      /UNKNOWN, though a look can end it/,
      4,
    ],
    [
      "an acknowledgement that forgets how long its order may be taken",
      ["ENDS", "SETTLED"],
      () => ({
        mutateVenue: losingEveryTenthTaken,
        mutateRoom: (room) => ({
          ...room,
          orders: {
            ...room.orders,
            async place(session, command, options) {
              const outcome = await room.orders.place(session, command, options);
              return outcome.outcome === "accepted" ? { ...outcome, notPlacedAfterMs: NO_PROOF_OF_ABSENCE } : outcome;
            },
          },
        }),
      }),
      /SUBMITTED, though the venue never took it/,
      0,
    ],
    [
      "an acknowledged order that is in no list",
      ["LISTED"],
      () => {
        const { listed } = ExecutionRegistry.prototype;
        vi.spyOn(ExecutionRegistry.prototype, "listed").mockImplementation(function (this: ExecutionRegistry, asker) {
          return { ...listed.call(this, asker), open: [] };
        });
        return { mutateVenue: showingNoEnd };
      },
      /SUBMITTED, and in no list/,
      9,
    ],
  ])(
    "%s",
    async (_, blind, mutant, text, from) => {
      try {
        const options = mutant();
        const seenAfter = await runsUntil(text, () => options, MUTANT_RUNS, from);
        expect(await violationTexts({ ...options, blind }, seenAfter, from)).toBe("");
      } finally {
        vi.restoreAllMocks();
      }
    },
    300_000,
  );
});

/**
 * The run after the one of whose violations the text is one; fails after `maxRuns`. `from`: the run that saw it when this
 * was written, so that the others are played only where that one sees it no more.
 */
async function runsUntil(
  text: RegExp,
  mutant: () => Partial<SimulationOptions>,
  maxRuns: number,
  from = 0,
): Promise<number> {
  const options = mutant();
  for (let run = from; run < from + maxRuns; run++) {
    const { violations } = await runSimulation({ seed: FIRST_SEED + run, tradeCount: 40, ...options });
    if (violations.some((violation) => text.test(violation))) return run + 1;
  }
  throw new Error(`not seen in ${maxRuns} runs: ${text}`);
}

async function violationTexts(options: Partial<SimulationOptions>, runs = 3, from = 0): Promise<string> {
  const texts: string[] = [];
  for (let run = from; run < runs; run++)
    texts.push(...(await runSimulation({ seed: FIRST_SEED + run, tradeCount: 40, ...options })).violations);
  return texts.join("\n");
}

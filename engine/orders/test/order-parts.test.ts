/** The small parts of the close path, each against its own promise. */
import { Owners } from "../../domain/owner.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../domain/virtual-clock.js";
import { createKeyedHash, cryptoRandomIds } from "../../storage/server-secret.js";
import { createMemoryStore } from "../../storage/test/memory-store.js";
import { uuidOf } from "../../../feeds/venuefour/account/client-id.js";
import { createClientIdSource } from "../send/client-id.js";
import type { OrderAttempt, TradeRun } from "../run.js";
import type { TradeData } from "../types.js";
import { Deadline, within } from "../../domain/deadline.js";
import { ExecutionRegistry } from "../durable/execution-registry.js";
import { MAX_LISTED, type ListedOrder } from "../listed-orders.js";
import { expiringWrites, SWEEP_MAX_ROWS, sweepExpired } from "../durable/expiring-rows.js";
import { FEE_CACHE_TTL_MS, FeeCache } from "../decide/fee-cache.js";
import { createNonceReservations } from "../durable/nonce-reservations.js";
import { collectSecrets, MAX_VENUE_TEXT_CHARS, redactVenueText } from "../redact.js";
import { mintRouteId } from "../route-ids.js";
import { Life } from "./life.js";

const hash = createKeyedHash(new Uint8Array(32).fill(3));

describe("client ids", () => {
  const ids = createClientIdSource(hash, cryptoRandomIds);
  const foreign = createClientIdSource(createKeyedHash(new Uint8Array(32).fill(4)), cryptoRandomIds);
  const scope = { scope: { scope: "key:pk_1", key: "k" }, createdAtMs: 1_790_000_000_000 };

  it("are the same for the same request and differ in every part", () => {
    const base = ids.mint(scope, 0, 1, true, null);
    expect(base).toMatch(/^[0-9a-f]{32}$/);
    expect(ids.mint({ ...scope }, 0, 1, true, null)).toBe(base);
    const others = [
      ids.mint(scope, 0, 2, true, null),
      ids.mint(scope, 1, 1, true, null),
      ids.mint({ ...scope, scope: { ...scope.scope, key: "k1" } }, 0, 1, true, null),
      ids.mint({ ...scope, scope: { ...scope.scope, scope: "key:pk_2" } }, 0, 1, true, null),
      ids.mint({ ...scope, createdAtMs: scope.createdAtMs + 1 }, 0, 1, true, null),
    ];
    expect(new Set([base, foreign.mint(scope, 0, 1, true, null), ...others]).size).toBe(7);
  });

  it("are random without a key", () => {
    const minted = new Set(Array.from({ length: 1000 }, () => ids.mint(null, 0, 1, false, null)));
    expect(minted.size).toBe(1000);
    expect([...minted].every((id) => /^[0-9a-f]{32}$/.test(id))).toBe(true);
  });

  it("say of a market order that it is one, also as a UUID, and of nothing else", () => {
    for (let attempt = 1; attempt <= 1000; attempt++) {
      for (const use of [null, scope]) {
        const [market, limit] = [ids.mint(use, 0, attempt, true, null), ids.mint(use, 0, attempt, false, null)];
        const asUuid = uuidOf(market).replaceAll("-", "");
        expect([market, asUuid, limit].map((id) => ids.isOfMarketOrder(id, null))).toEqual([true, true, false]);
        // Of another server, and cut short.
        expect(ids.isOfMarketOrder(foreign.mint(use, 0, attempt, true, null), null)).toBe(false);
        expect(ids.isOfMarketOrder(market.slice(1), null)).toBe(false);
      }
    }
  });

  it("and route ids sort by time and do not repeat", () => {
    const early = mintRouteId("rt", 1_790_000_000_000, cryptoRandomIds);
    expect(early).toMatch(/^rt_[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(early < mintRouteId("rt", 1_790_000_000_001, cryptoRandomIds)).toBe(true);
    expect(mintRouteId("rt", 1_790_000_000_000, cryptoRandomIds)).not.toBe(early);
  });
});

describe("nonce reservations", () => {
  it("never overlap, never fall below the floor, and leave no gap without reason", async () => {
    const reservations = createNonceReservations(createMemoryStore());
    expect(await reservations.reserve("s", 1000, 10)).toEqual({ from: 1000, until: 1010 });
    expect(await reservations.reserve("s", 0, 5)).toEqual({ from: 1010, until: 1015 });
    expect(await reservations.reserve("s", 5000, 1)).toEqual({ from: 5000, until: 5001 });
    expect(await reservations.reserve("t", 7, 1)).toEqual({ from: 7, until: 8 });
  });

  it("stay apart for any mix of concurrent callers, processes and crashes", async () => {
    const plan = fc.array(
      fc.record({ floor: fc.nat(1_000), span: fc.integer({ min: 1, max: 50 }), process: fc.nat(2) }),
      { minLength: 1, maxLength: 40 },
    );
    await fc.assert(
      fc.asyncProperty(plan, fc.integer({ min: 1, max: 60 }), async (calls, diesAtStep) => {
        const store = createMemoryStore();
        // Process 0 dies on the way; what was never confirmed to it may be lost, but must not be handed out again.
        const lives = [new Life(diesAtStep), new Life(), new Life()];
        const processes = lives.map((life) => createNonceReservations(life.store(store)));
        const ranges: { from: number; until: number; floor: number; span: number }[] = [];
        for (const { floor, span, process } of calls) {
          void processes[process]
            ?.reserve("signer", floor, span)
            .then((range) => ranges.push({ ...range, floor, span }));
        }
        await new VirtualClock().advanceAsync(1);
        for (const range of ranges) {
          expect(range.from).toBeGreaterThanOrEqual(range.floor);
          expect(range.until - range.from).toBe(range.span);
        }
        const sorted = ranges.sort((left, right) => left.from - right.from);
        for (let index = 1; index < sorted.length; index++)
          expect(sorted[index]?.from).toBeGreaterThanOrEqual(sorted[index - 1]?.until ?? 0);
        if (diesAtStep > 59) expect(ranges.length).toBeGreaterThan(0);
      }),
      { numRuns: 200, seed: 11 },
    );
  });

  it("refuse what they cannot promise", async () => {
    const reservations = createNonceReservations(createMemoryStore());
    for (const [floor, span] of [
      [-1, 1],
      [0, 0],
      [0.5, 1],
      [0, 1.5],
      [Number.MAX_SAFE_INTEGER, 1],
    ] as const) {
      await expect(reservations.reserve("s", floor, span)).rejects.toMatchObject({ code: "INTERNAL" });
    }
    await expect(reservations.reserve("", 0, 1)).rejects.toMatchObject({ code: "INTERNAL" });
    expect(await reservations.reserve("s", 0, 1)).toEqual({ from: 0, until: 1 });
  });
});

describe("rows with an end", () => {
  it("go at their time, oldest first, a bounded number per sweep", async () => {
    const store = createMemoryStore();
    for (let index = 0; index < SWEEP_MAX_ROWS + 20; index++) {
      await store.commit({ writes: expiringWrites("n", `k${index}`, Buffer.from("v"), 1_000 + index) });
    }
    expect(await sweepExpired(store, "n", 1_000)).toBe(0);
    expect(await sweepExpired(store, "n", 1_001)).toBe(1);
    expect(await store.get("n", "k0")).toBeNull();
    expect(await store.get("n", "k1")).not.toBeNull();
    expect(await sweepExpired(store, "n", 9_999)).toBe(SWEEP_MAX_ROWS);
    expect(await sweepExpired(store, "n", 9_999)).toBe(19);
    expect(store.rowCount()).toBe(0);
  });
});

const ALL = { ownerId: null, payer: null, seesAll: true } as const;

describe("the execution registry", () => {
  const data = (routeId: string): TradeData => ({ routing: { routeId } }) as unknown as TradeData;
  const run = { attempts: [] as readonly OrderAttempt[] } as TradeRun;
  const unknown = (routeId: string): ListedOrder => ({
    routeId,
    venue: "venueone",
    symbol: "BTC",
    venueClientOrderId: "c",
    sinceMs: 0,
    fromEarlierStart: false,
    ownerId: null,
  });

  it("forgets the oldest beyond its bound, and finds persisted ones in the store", async () => {
    const store = createMemoryStore();
    const registry = new ExecutionRegistry(store, new VirtualClock(), new Owners(), 2);
    await store.commit({ writes: registry.persistWrites(data("kept"), run) });
    for (const routeId of ["a", "b", "c"]) registry.remember(data(routeId), run);
    expect(await registry.get("a")).toBeNull();
    expect(await registry.get("c")).toEqual(data("c"));
    expect(await registry.get("kept")).toEqual(data("kept"));
    expect(await new ExecutionRegistry(store, new VirtualClock(), new Owners()).get("kept")).toEqual(data("kept"));
  });

  it("has one copy of a run whose orders are at work, also when it fell out and is read again", async () => {
    const store = createMemoryStore();
    const registry = new ExecutionRegistry(store, new VirtualClock(), new Owners(), 1);
    const working = { routeId: "working", attempts: [{ outcome: "UNKNOWN" }] } as unknown as TradeRun;
    await store.commit({ writes: registry.persistWrites(data("working"), working) });
    registry.remember(data("a"), run);
    expect(await registry.unsettledRun("working")).toBe(working);
    // As after a restart: two readers share the copy that the first one made, as long as one of them has it.
    const next = new ExecutionRegistry(store, new VirtualClock(), new Owners(), 1);
    const read = await next.unsettledRun("working");
    next.remember(data("a"), run);
    expect(await next.unsettledRun("working")).toBe(read);
  });

  it("lists unknown ones up to its bound and counts the rest", () => {
    const registry = new ExecutionRegistry(createMemoryStore(), new VirtualClock(), new Owners());
    for (let index = 0; index < MAX_LISTED + 3; index++) registry.markUnknown(unknown(`r${index}`));
    expect(registry.listed(ALL).unknown).toHaveLength(MAX_LISTED);
    expect(registry.listed(ALL).unknownCount).toBe(MAX_LISTED + 3);
    registry.markUnknown(unknown(`r${MAX_LISTED + 2}`));
    expect(registry.listed(ALL).unknownCount).toBe(MAX_LISTED + 3);
    registry.track({ ...run, routeId: "r0" });
    registry.track({ ...run, routeId: `r${MAX_LISTED + 1}` });
    expect(registry.listed(ALL).unknownCount).toBe(MAX_LISTED + 1);
  });
});

describe("the fee cache", () => {
  it("keeps rates for its time and its number of accounts", () => {
    const clock = new VirtualClock();
    const cache = new FeeCache(clock, 2);
    const rates = { takerFeeMilliBps: 1, makerFeeMilliBps: 2 };
    for (const key of ["a", "b", "c"]) cache.set(key, rates);
    expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual([null, rates, rates]);
    clock.advance(FEE_CACHE_TTL_MS - 1);
    expect(cache.get("c")).toEqual(rates);
    clock.advance(1);
    expect(cache.get("c")).toBeNull();
    expect(cache.size).toBe(1);
  });
});

describe("redaction of venue texts", () => {
  it("blanks every secret in any case, longest first, and cuts", () => {
    const secrets = collectSecrets({
      one: { key: "0xABCDEF0123", nested: { secret: "ABCDEF012345", index: 3, flag: "on" } },
    });
    expect(secrets).toEqual(["ABCDEF012345", "ABCDEF0123"]);
    expect(redactVenueText("no abcdef012345, 0xAbCdEf0123 on", secrets)).toBe("no [redacted], 0x[redacted] on");
    // Letters that are two in lower case.
    expect(redactVenueText("İİİİ abcdef012345.", secrets)).toBe("İİİİ [redacted].");
    expect(redactVenueText("x".repeat(1000), [])).toHaveLength(MAX_VENUE_TEXT_CHARS);
  });

  it("leaves no secret in any text", () => {
    const secret = fc.string({ minLength: 6, maxLength: 20, unit: fc.constantFrom(..."abcXYZ019") });
    fc.assert(
      fc.property(
        fc.array(secret, { minLength: 1, maxLength: 4 }),
        fc.array(fc.nat(9), { maxLength: 8 }),
        (values, order) => {
          const secrets = collectSecrets(values);
          const text = order.map((index) => values[index % values.length]).join("-");
          const clean = redactVenueText(text, secrets).toLowerCase();
          for (const value of values) expect(clean).not.toContain(value.toLowerCase());
        },
      ),
      { numRuns: 300, seed: 5 },
    );
  });
});

describe("waiting with an end", () => {
  it("gives the value in time, and nothing after", async () => {
    const clock = new VirtualClock();
    expect(await within(clock, Promise.resolve(1), 10)).toEqual({ done: true, value: 1 });
    expect(clock.pendingTimerCount).toBe(0);
    const late = within(clock, new Promise(() => {}), 10);
    await clock.advanceAsync(10);
    expect(await late).toEqual({ done: false });
    await expect(within(clock, Promise.reject(new TypeError("x")), 10)).rejects.toThrow(TypeError);
  });

  it("counts down on the monotonic clock and stops at zero", () => {
    const clock = new VirtualClock();
    const deadline = new Deadline(clock, 100);
    clock.advance(40);
    expect([deadline.elapsedMs(), deadline.leftMs()]).toEqual([40, 60]);
    clock.advance(100);
    expect(deadline.leftMs()).toBe(0);
  });
});

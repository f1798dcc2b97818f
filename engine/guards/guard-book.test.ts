import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { silentLogger } from "../domain/logger.js";
import { VirtualClock } from "../domain/virtual-clock.js";
import type { Restored } from "../storage/instance/instance-mark.js";
import { createMemoryStore, type MemoryStore } from "../storage/test/memory-store.js";
import { GuardBook, NO_LIMITS, notionalMicro, type GuardLimits, type GuardPolicy } from "./guard-book.js";
import type { GuardedOrder, GuardReservation } from "./guards.js";

const clock = new VirtualClock(Date.UTC(2026, 0, 5, 12));

function order(overrides: Partial<GuardedOrder> = {}): GuardedOrder {
  return {
    clientIdHex: "a".repeat(32),
    atMs: clock.wallMs(),
    ownerId: "pk_one",
    accountHash: "acct",
    venue: "venueone",
    symbol: "BTC",
    opens: true,
    qtyLots: 1_000,
    qtyDecimals: 3,
    priceDecimals: 1,
    priceTicks: 1_000,
    doubleMidTicks: 2_000,
    ...overrides,
  };
}

async function book(policy: Partial<GuardPolicy>, store = createMemoryStore(), maxSubjects = 100): Promise<GuardBook> {
  const complete = { global: NO_LIMITS, byOwner: new Map<string, GuardLimits>(), each: NO_LIMITS, ...policy };
  const made = new GuardBook({ store, clock, logger: silentLogger, policy: complete, maxSubjects });
  await made.start();
  return made;
}

/** Too short to be recognised as a key. */
const SHORT = "hunter2hunter2";

/** A leak of most of a key counts as a leak of all of it. */
function isLeaking(text: string, key: string): boolean {
  return text.includes(SHORT) || text.includes(key.slice(0, 32));
}

function codeOf(guards: GuardBook, overrides: Partial<GuardedOrder> = {}): string {
  const verdict = guards.check(order(overrides));
  return verdict.ok ? "ok" : verdict.code;
}

async function reserve(guards: GuardBook, store: MemoryStore, id: string): Promise<GuardReservation> {
  const verdict = guards.check(order({ clientIdHex: id }));
  if (!verdict.ok) throw new Error(verdict.code);
  await store.commit({ writes: verdict.reservation.writes });
  return verdict.reservation;
}

describe("the guards", () => {
  it("open nothing from a store that was put back, and let every exit pass", async () => {
    let restored: Restored | null = { reason: "FILE_AHEAD", sinceMs: 7, storeAtMs: 1 };
    const policy = { global: NO_LIMITS, byOwner: new Map<string, GuardLimits>(), each: NO_LIMITS };
    const store = createMemoryStore();
    const guards = new GuardBook({ store, clock, logger: silentLogger, policy, restored: () => restored });
    await guards.start();
    expect(guards.check(order())).toEqual({
      ...{ ok: false, code: "RESTORED_STORE", details: { reason: "FILE_AHEAD", since: 7 } },
    });
    expect(codeOf(guards, { opens: false })).toBe("ok");
    restored = null;
    const verdict = guards.check(order());
    expect(verdict.ok && verdict.reservation.stoppedBy()).toBeNull();
    // Between the check and the send, by the co-signer's word.
    restored = { reason: "COSIGNER_AHEAD", sinceMs: 8, storeAtMs: 1 };
    expect(verdict.ok && verdict.reservation.stoppedBy()).toBe("RESTORED_STORE");
  });

  it("hold an order to the key's limit and the global one", async () => {
    const byOwner = new Map([["pk_one", { ...NO_LIMITS, maxOrderNotional: "100" }]]);
    const guards = await book({ byOwner, global: { ...NO_LIMITS, maxOrderNotional: "150.5" } });
    expect(codeOf(guards)).toBe("ok");
    expect(codeOf(guards, { qtyLots: 1_001 })).toBe("ORDER_LIMIT");
    expect(codeOf(guards, { qtyLots: 1_505, ownerId: "pk_two" })).toBe("ok");
    expect(codeOf(guards, { qtyLots: 1_506, ownerId: "pk_two" })).toBe("ORDER_LIMIT");
  });

  it("price an order at the larger of limit and mid, and refuse one without a mid", async () => {
    const guards = await book({ global: { ...NO_LIMITS, maxOrderNotional: "100" } });
    expect(codeOf(guards, { priceTicks: 1, doubleMidTicks: 2_000 })).toBe("ok");
    expect(codeOf(guards, { priceTicks: 1, doubleMidTicks: 2_001 })).toBe("ORDER_LIMIT");
    expect(codeOf(guards, { priceTicks: 1_001, doubleMidTicks: 2 })).toBe("ORDER_LIMIT");
    expect(codeOf(guards, { doubleMidTicks: 0 })).toBe("VENUE_UNAVAILABLE");
  });

  it("refuse openings when the store is short of space, but never an exit", async () => {
    const store = createMemoryStore();
    const guards = await book({}, store);
    for (const [space, opening] of [
      ["AMPLE", "ok"],
      ["TIGHT", "ok"],
      ["LOW", "STORE_UNAVAILABLE"],
      ["FULL", "STORE_UNAVAILABLE"],
      ["AMPLE", "ok"],
    ] as const) {
      store.space = space;
      expect([space, codeOf(guards)]).toEqual([space, opening]);
      expect([space, guards.checkOrder(order()).ok]).toEqual([space, opening === "ok"]);
      expect([space, codeOf(guards, { opens: false })]).toEqual([space, "ok"]);
    }
    store.space = "LOW";
    expect(guards.check(order())).toMatchObject({ details: { reason: "DISK_LOW" } });
  });

  it("apply the allow-lists to openings, never to an exit", async () => {
    const lists = { ...NO_LIMITS, symbols: ["ETH"], venues: ["venuetwo"], maxOrderNotional: "1" } as const;
    const guards = await book({ each: lists });
    expect(codeOf(guards)).toBe("VENUE_NOT_ALLOWED");
    expect(codeOf(guards, { venue: "venuetwo" })).toBe("SYMBOL_NOT_ALLOWED");
    expect(codeOf(guards, { venue: "venuetwo", symbol: "ETH" })).toBe("ORDER_LIMIT");
    expect(codeOf(guards, { opens: false })).toBe("ok");
  });

  it("stop openings at the kill switch, for one venue or all, across restarts; exits go on", async () => {
    const store = createMemoryStore();
    const first = await book({}, store);
    const passed = first.check(order());
    await first.halt("venueone", "drill");
    // An order that passed before the switch is stopped right before its send.
    expect(passed.ok && passed.reservation.stoppedBy()).toBe("TRADING_HALTED");
    const guards = await book({}, store);
    expect(codeOf(guards)).toBe("TRADING_HALTED");
    expect(codeOf(guards, { opens: false })).toBe("ok");
    expect(codeOf(guards, { venue: "venuetwo" })).toBe("ok");
    await guards.halt(null, "all of it");
    expect(codeOf(guards, { venue: "venuetwo" })).toBe("TRADING_HALTED");
    await guards.resume(null);
    expect(guards.status().halts).toMatchObject([{ venue: "venueone", reason: "drill" }]);
    await guards.resume("venueone");
    expect(codeOf(await book({}, store))).toBe("ok");
  });

  it("remove a key from the reason given for the kill switch, wherever it occurs in the text, also from one that an earlier version stored", async () => {
    const key = "ab12".repeat(16);
    for (const reason of [
      `leaked ${key}`,
      `${"x".repeat(150)} 0x${key}`,
      `see https://wiki.test/a?apiSecret=${SHORT}#b`,
    ]) {
      const store = createMemoryStore();
      const guards = await book({}, store);
      await guards.halt("venueone", reason);
      const rows = await store.scan("guard-halt", { prefix: "", limit: 10 });
      const shown = [
        guards.status(),
        guards.check(order()),
        (await book({}, store)).status(),
        rows.map(({ value }) => Buffer.from(value).toString()),
      ];
      expect(shown.filter((text) => isLeaking(JSON.stringify(text), key))).toEqual([]);
      expect(guards.status().halts[0]?.reason).toMatch(/redacted|wiki/);
      const old = JSON.stringify({ venue: "venueone", reason, sinceMs: 1 });
      await store.put("guard-halt", "venueone", Buffer.from(old));
      const later = await book({}, store);
      const told = [later.status(), later.check(order())];
      expect(told.filter((text) => isLeaking(JSON.stringify(text), key))).toEqual([]);
      expect(codeOf(later)).toBe("TRADING_HALTED");
      const kept = await store.scan("guard-halt", { prefix: "", limit: 10 });
      expect(kept.filter(({ value }) => isLeaking(Buffer.from(value).toString(), key))).toEqual([]);
    }
  });

  it("halt at once although the store refuses the write, and stay halted when it refuses the resume", async () => {
    const store = createMemoryStore();
    const guards = await book({}, store);
    await guards.halt(null, "drill");
    store.gate = () => Promise.reject(new Error("disk"));
    await expect(guards.resume(null)).rejects.toThrow();
    expect(codeOf(guards)).toBe("TRADING_HALTED");
    const other = await book({});
    expect(codeOf(other)).toBe("ok");
  });

  it("stay halted, also after a restart, when a new halt comes while a resume is being written", async () => {
    const store = createMemoryStore();
    const guards = await book({}, store);
    await guards.halt(null, "drill");
    let open = (): void => {};
    const held = new Promise<void>((resolve) => {
      open = resolve;
    });
    store.gate = () => held;
    const resumed = guards.resume(null);
    const halted = guards.halt(null, "again");
    open();
    await Promise.all([resumed, halted]);
    expect(codeOf(guards)).toBe("TRADING_HALTED");
    expect(codeOf(await book({}, store))).toBe("TRADING_HALTED");
  });

  it("let nothing open before they have read today's usage", () => {
    const policy = { global: NO_LIMITS, byOwner: new Map<string, GuardLimits>(), each: NO_LIMITS };
    const guards = new GuardBook({ store: createMemoryStore(), clock, logger: silentLogger, policy });
    expect(codeOf(guards)).toBe("NOT_READY");
  });

  it("cannot be built with a limit that is not a number", () => {
    const policy = {
      global: { ...NO_LIMITS, maxDailyNotional: "1e6" },
      byOwner: new Map<string, GuardLimits>(),
      each: NO_LIMITS,
    };
    expect(() => new GuardBook({ store: createMemoryStore(), clock, logger: silentLogger, policy })).toThrow(
      "Internal error",
    );
  });
});

describe("the daily limit", () => {
  it("is exact to the millionth, and releases once the share of an order that filled nothing", async () => {
    const store = createMemoryStore();
    const guards = await book({ each: { ...NO_LIMITS, maxDailyNotional: "200" } }, store);
    const first = await reserve(guards, store, "1".repeat(32));
    await reserve(guards, store, "2".repeat(32));
    expect(codeOf(guards, { qtyLots: 1 })).toBe("DAILY_LIMIT");
    await store.commit({ writes: [...first.release()] });
    first.release();
    expect(guards.usedBy("pk_one", "acct")).toBe("100");
    expect(codeOf(guards, { qtyLots: 1_001 })).toBe("DAILY_LIMIT");
    expect(guards.check(order({ qtyLots: 1_001 }))).toMatchObject({ details: { left: "100", scope: "key" } });
  });

  it("counts each key separately, each account in public mode, and all together globally", async () => {
    const guards = await book({
      each: { ...NO_LIMITS, maxDailyNotional: "100" },
      global: { ...NO_LIMITS, maxDailyNotional: "300" },
    });
    const subjects = [{ ownerId: "pk_two" }, { ownerId: null, accountHash: "a" }, { ownerId: null, accountHash: "b" }];
    expect(subjects.map((subject) => codeOf(guards, subject))).toEqual(["ok", "ok", "ok"]);
    expect(codeOf(guards, { ownerId: null, accountHash: "b" })).toBe("DAILY_LIMIT");
    expect(guards.check(order())).toMatchObject({ code: "DAILY_LIMIT", details: { scope: "global" } });
  });

  it("of all together does not tell an owner what the others left of it; without keys it is everybody's", async () => {
    const guards = await book({ global: { ...NO_LIMITS, maxDailyNotional: "150" } });
    expect(codeOf(guards, { ownerId: "ow_other" })).toBe("ok");
    const details = (ownerId: string | null): unknown => {
      const verdict = guards.check(order({ ownerId }));
      return verdict.ok ? null : verdict.details["left"];
    };
    expect([details("ow_one"), details(null)]).toEqual([undefined, "50"]);
  });

  it("starts again at zero with each UTC day", async () => {
    const guards = await book({ each: { ...NO_LIMITS, maxDailyNotional: "100" } });
    expect(codeOf(guards)).toBe("ok");
    expect(codeOf(guards)).toBe("DAILY_LIMIT");
    const midnight = Date.UTC(2026, 0, 6);
    expect(guards.check(order())).toMatchObject({ details: { resetsAt: midnight } });
    expect(codeOf(guards, { atMs: midnight - 1 })).toBe("DAILY_LIMIT");
    expect(codeOf(guards, { atMs: midnight })).toBe("ok");
  });

  it("is, after a crash, the sum of the orders that may exist, whichever batches reached the disk", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ lands: fc.boolean(), released: fc.boolean() }), { maxLength: 30 }),
        async (fates) => {
          const store = createMemoryStore();
          const limits = { each: { ...NO_LIMITS, maxDailyNotional: "3000" } };
          const guards = await book(limits, store);
          let expected = 0;
          for (const [index, { lands, released }] of fates.entries()) {
            const verdict = guards.check(order({ clientIdHex: String(index).padStart(32, "0") }));
            if (!verdict.ok) throw new Error(verdict.code);
            if (lands) await store.commit({ writes: verdict.reservation.writes });
            if (lands && !released) expected += 100;
            if (released) await store.commit({ writes: [...verdict.reservation.release()] });
          }
          const next = await book(limits, store);
          expect(next.usedBy("pk_one", "acct")).toBe(String(expected));
        },
      ),
      { numRuns: 30 },
    );
  });

  it("releases the share of an order of an earlier start, once", async () => {
    const store = createMemoryStore();
    const limits = { each: { ...NO_LIMITS, maxDailyNotional: "200" } };
    await reserve(await book(limits, store), store, "1".repeat(32));
    const guards = await book(limits, store);
    expect(guards.status().usedToday).toBe("100");
    const writes = await Promise.all([
      guards.releaseEarlier("1".repeat(32), clock.wallMs()),
      guards.releaseEarlier("1".repeat(32), clock.wallMs()),
      guards.releaseEarlier("2".repeat(32), clock.wallMs()),
    ]);
    await store.commit({ writes: writes.flat() });
    expect(guards.status().usedToday).toBe("0");
    expect((await book(limits, store)).status().usedToday).toBe("0");
  });

  it("refuses one subject too many, and drops past days", async () => {
    const store = createMemoryStore();
    const guards = await book({ each: { ...NO_LIMITS, maxDailyNotional: "200" } }, store, 2);
    await reserve(guards, store, "1".repeat(32));
    expect(codeOf(guards, { ownerId: "pk_two" })).toBe("ok");
    expect(codeOf(guards, { ownerId: "pk_three" })).toBe("OVERLOADED");
    const rows = store.rowCount();
    clock.advance(3 * 86_400_000);
    await guards.sweep();
    expect(store.rowCount()).toBe(rows - 1);
  });

  it("counts exactly at all scales", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1e9 }),
        fc.integer({ min: 1, max: 1e6 }),
        fc.integer({ min: -3, max: 8 }),
        fc.integer({ min: 0, max: 8 }),
        (qtyLots, priceTicks, qtyDecimals, priceDecimals) => {
          const micro = notionalMicro(order({ qtyLots, priceTicks, qtyDecimals, priceDecimals, doubleMidTicks: 1 }));
          const places = 20n;
          const exact = BigInt(qtyLots) * BigInt(priceTicks) * 10n ** (places - BigInt(qtyDecimals + priceDecimals));
          const scaled = micro * 10n ** (places - 6n);
          expect(scaled >= exact && scaled - exact < 10n ** (places - 6n)).toBe(true);
        },
      ),
    );
  });
});

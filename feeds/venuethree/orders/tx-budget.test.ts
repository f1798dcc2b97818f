import { describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { CallOptions, Lane, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import { TX_CANCEL_ALL, TX_CANCEL_ORDER, TX_CREATE_ORDER, TX_MODIFY_ORDER, TX_UPDATE_LEVERAGE } from "../sign/tx.js";
import { TxBudget } from "./tx-budget.js";

const ADDRESS = `0x${"Ab".repeat(20)}`;
const FAILED = failedRead("TIMEOUT", "no answer");

interface Bench {
  readonly clock: VirtualClock;
  readonly budget: TxBudget;
  readonly asked: { readonly accountIndex: number; readonly options: CallOptions; end(address: string | null): void }[];
  /** Begins to learn; says whether it is still waited for. */
  learn(accountIndex: number, lane: Lane, leftMs?: number): { isWaiting: boolean };
}

function create(): Bench {
  const clock = new VirtualClock();
  const budget = new TxBudget({ clock, sendsPerMinute: 8, otherSendsPerMinute: 4 });
  const asked: Bench["asked"] = [];
  return {
    clock,
    budget,
    asked,
    learn(accountIndex, lane, leftMs = 30_000) {
      const waiting = { isWaiting: true };
      const read = (options: CallOptions): Promise<Read<unknown>> =>
        new Promise((resolve) => {
          const end = (address: string | null): void => {
            if (address !== null) budget.note(accountIndex, address);
            resolve(address === null ? FAILED : { ok: true, value: null, asOfMs: 0, source: "venue" });
          };
          asked.push({ accountIndex, options, end });
        });
      void budget.learn(accountIndex, lane, leftMs, read).then(() => {
        waiting.isWaiting = false;
      });
      return waiting;
    },
  };
}

async function flush(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

describe("the address of an account", () => {
  it("is asked for once, out of the lane of entries; entries wait for it and exits do not", async () => {
    const { asked, budget, learn } = create();
    const [entry, another, exit] = [learn(1, "trade"), learn(1, "trade"), learn(1, "exit")];
    await flush();
    expect([entry.isWaiting, another.isWaiting, exit.isWaiting]).toEqual([true, true, false]);
    expect(asked.map(({ options }) => options.lane)).toEqual(["trade"]);
    asked[0]?.end(ADDRESS);
    await flush();
    expect([entry.isWaiting, another.isWaiting]).toEqual([false, false]);
    expect(budget.isKnown(1)).toBe(true);
    const later = learn(1, "trade");
    await flush();
    expect(later.isWaiting).toBe(false);
    expect(asked).toHaveLength(1);
  });

  it("is not waited for longer than a second, nor than half of the time that is left", async () => {
    const { clock, learn } = create();
    const [entry, hurried] = [learn(1, "trade"), learn(1, "trade", 600)];
    await flush();
    await clock.advanceAsync(300);
    expect([entry.isWaiting, hurried.isWaiting]).toEqual([true, false]);
    await clock.advanceAsync(700);
    expect(entry.isWaiting).toBe(false);
  });

  it("is asked for again a while after nobody answered", async () => {
    const { asked, clock, learn } = create();
    learn(1, "exit");
    asked[0]?.end(null);
    await flush();
    const next = learn(1, "trade");
    await flush();
    expect([next.isWaiting, asked.length]).toEqual([false, 1]);
    await clock.advanceAsync(5_000);
    learn(1, "trade");
    expect(asked).toHaveLength(2);
  });

  it("is asked for of so many accounts at once", () => {
    const { asked, learn } = create();
    for (let index = 1; index <= 100; index++) learn(index, "exit");
    expect(asked).toHaveLength(64);
  });

  it("gathers what its accounts have used, and what of that never left", () => {
    const { budget, clock } = create();
    const takenAtMs = clock.monoNs() / 1e6;
    for (const account of ["1", "1", "1", "2", "2"]) expect(budget.sends.tryTake(account, 1, "trade")).toBe(0);
    budget.note(1, ADDRESS);
    budget.note(2, ADDRESS.toLowerCase());
    expect(budget.sends.accountCount).toBe(1);
    expect(budget.sends.tryTake("1", 1, "trade")).toBe(0);
    expect(budget.sends.waitMs("2", 1, "trade")).toBeGreaterThan(0);
    expect(budget.sends.waitMs("2", 2, "exit")).toBe(0);
    expect(budget.sends.waitMs("2", 3, "exit")).toBeGreaterThan(0);
    budget.sends.refund("2", 1, "trade", takenAtMs);
    expect(budget.sends.waitMs("1", 1, "trade")).toBe(0);
    expect(budget.sends.waitMs("3", 6, "trade")).toBe(0);
    clock.advance(63_001);
    expect(budget.sends.waitMs("1", 6, "trade")).toBe(0);
  });

  it("counts for nothing where it is none", () => {
    const { budget } = create();
    budget.note(1, "");
    expect(budget.isKnown(1)).toBe(false);
  });
});

describe("transactions of other types", () => {
  it("leave a quarter to exits, by address, and come back with the minute", () => {
    const { budget, clock } = create();
    budget.note(1, ADDRESS);
    budget.note(2, ADDRESS);
    const take = (account: number, lane: Lane) => budget.takeOther(TX_UPDATE_LEVERAGE, account, lane);
    expect([take(1, "trade"), take(2, "trade"), take(1, "trade")]).toEqual([null, null, null]);
    const held = take(2, "trade");
    expect(held).toMatchObject({ reason: "RATE_LIMITED", venueCode: "OTHER_TX_BUDGET", sent: false });
    expect(held?.retryAfterMs).toBeGreaterThan(0);
    expect(budget.otherWaitMs(1, "trade")).toBe(held?.retryAfterMs);
    expect([take(2, "exit"), take(2, "exit")?.venueCode]).toEqual([null, "OTHER_TX_BUDGET"]);
    clock.advance(held?.retryAfterMs ?? 0);
    expect([budget.otherWaitMs(1, "trade"), take(1, "trade")]).toEqual([0, null]);
  });

  it("hold back no order, change or cancel, and none that did not leave", () => {
    const { budget, clock } = create();
    const takenAtMs = clock.monoNs() / 1e6;
    for (let count = 0; count < 4; count++) expect(budget.takeOther(TX_UPDATE_LEVERAGE, 1, "exit")).toBeNull();
    for (const type of [TX_CREATE_ORDER, TX_CANCEL_ORDER, TX_CANCEL_ALL, TX_MODIFY_ORDER])
      expect(budget.takeOther(type, 1, "trade")).toBeNull();
    budget.releaseOther(TX_CANCEL_ORDER, 1, "exit", takenAtMs);
    expect(budget.takeOther(TX_UPDATE_LEVERAGE, 1, "exit")).not.toBeNull();
    budget.releaseOther(TX_UPDATE_LEVERAGE, 1, "exit", takenAtMs);
    expect(budget.takeOther(TX_UPDATE_LEVERAGE, 1, "exit")).toBeNull();
  });
});

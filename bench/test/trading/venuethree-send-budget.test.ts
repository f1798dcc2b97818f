/**
 * venuethree counts transactions by first-layer address, whose accounts share the budget. It counts leverage and the
 * like once more, by a smaller number. The room against its local venue with the true limits, on one virtual clock.
 */
import { describe, expect, it } from "vitest";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { PlaceOutcome } from "../../../engine/domain/order.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountSession, Lane, SettingOutcome, VenueRoom } from "../../../engine/ports.js";
import { untilSettled } from "../../../feeds/shared/test/http-time.js";
import { createVenuethreeRoom } from "../../../feeds/venuethree/room.js";
import type { VenuethreeSim } from "../../sim/venuethree/sim.js";
import { NO_LIMIT, startLocalVenues } from "../support/local-venues.js";
import { listed } from "../support/trading/bench.js";
import { roomOptions, stopAfterTest } from "../support/trading/rooms.js";
import { L1_ALICE, L1_BOB, publicKeyHex, readListing } from "../support/trading/venuethree.js";
import { commandOf, nextClientId, open, placeUntilRefused, wholeTicks } from "../support/trading-half.js";

/** Two accounts of one address, and one of another. */
const MASTER = 516;
const SUB = 281_474_976_710_000;
const STRANGER = 600;
/** Made for these tests, of no value. */
const KEYS = new Map([MASTER, SUB, STRANGER].map((index, at) => [index, `${at + 1}${at + 1}`.repeat(40)]));
/** 80 % of the venue's 60 a minute, and the exits' part of it. */
const USED_PER_MINUTE = 48;
const KEPT_FOR_EXITS = 12;
/** The same of its 40 of other types. */
const OTHERS_PER_MINUTE = 32;
const OTHERS_KEPT_FOR_EXITS = 8;
const ACCOUNT_READ = "GET /api/v1/account";
const MINUTE_MS = 60_000;
/** Length of a bucket of the window. */
const SLACK_MS = 3_000;

interface Bench {
  readonly sim: VenuethreeSim;
  readonly clock: VirtualClock;
  /** Not started: what trades needs no market data. */
  readonly room: VenueRoom;
  readonly btc: Instrument;
  session(accountIndex: number): AccountSession;
}

async function start(): Promise<Bench> {
  // The room measures its offset by the Date of the answers, which is the real one.
  const clock = new VirtualClock(Date.now());
  const { venuethree: sim } = await startLocalVenues(["venuethree"], { seed: 9, clock, symbols: ["BTC"] });
  for (const [accountIndex, key] of KEYS)
    sim.addAccount({
      accountIndex,
      l1Address: accountIndex === STRANGER ? L1_BOB : L1_ALICE,
      deposit: "1000000",
      positions: [{ symbol: "BTC", size: "1" }],
      apiKeys: [{ apiKeyIndex: 5, publicKey: publicKeyHex(key) }],
    });
  const limits = { restPerMinute: NO_LIMIT, sendsPerMinute: USED_PER_MINUTE };
  const room = createVenuethreeRoom({ ...roomOptions(sim, clock), limits });
  stopAfterTest(room, sim);
  return {
    sim,
    clock,
    room,
    btc: listed(await readListing(sim.restUrl), "BTC"),
    session: (accountIndex) => open(room, { apiKeyPrivateKey: KEYS.get(accountIndex), accountIndex }),
  };
}

/** Places an entry that rests, or a close of 100 lots. */
function place({ btc, room, sim }: Bench, session: AccountSession, lane: Lane): Promise<PlaceOutcome> {
  const mark = sim.exchange.market.mark("BTC").markE8 / 1e8;
  const command = commandOf(btc, {
    ...(lane === "exit" ? { side: "SELL" as const } : { type: "LIMIT" as const, timeInForce: "GTC" as const }),
    reduceOnly: lane === "exit",
    priceTicks: wholeTicks(btc, mark * (lane === "exit" ? 0.97 : 0.9)),
    qtyLots: 100,
  });
  // The timeout is long because the room measures its offset by the Date of answers, which does not follow steps of
  // this clock.
  return room.orders.place(session, command, { timeoutMs: 30_000, lane });
}

function enterUntilRefused(on: Bench, session: AccountSession) {
  return placeUntilRefused(() => place(on, session, "trade"), 2 * USED_PER_MINUTE);
}

describe("two accounts of one address", () => {
  it("share its transactions: what is kept for exits, entries of neither take", async () => {
    const on = await start();
    const [master, sub] = [on.session(MASTER), on.session(SUB)];
    const byMaster = await enterUntilRefused(on, master);
    const bySub = await enterUntilRefused(on, sub);
    expect(byMaster.takenCount + bySub.takenCount).toBe(USED_PER_MINUTE - KEPT_FOR_EXITS);
    for (const { refused } of [byMaster, bySub])
      expect(refused).toMatchObject({ outcome: "rejected", reason: "RATE_LIMITED", sent: false });
    // The router sees it.
    for (const session of [master, sub]) {
      expect(on.room.orderWaitMs?.(session, "trade")).toBeGreaterThan(0);
      expect(on.room.orderWaitMs?.(session, "exit")).toBe(0);
    }
    for (let count = 0; count < KEPT_FOR_EXITS; count++)
      expect(await place(on, count % 2 === 0 ? sub : master, "exit")).toMatchObject({ outcome: "accepted" });
  });

  it("beside one of another address, which has its own", async () => {
    const on = await start();
    await enterUntilRefused(on, on.session(MASTER));
    const byStranger = await enterUntilRefused(on, on.session(STRANGER));
    expect(byStranger.takenCount).toBe(USED_PER_MINUTE - KEPT_FOR_EXITS);
  });

  it("known from a read of all accounts of the address, which asks nothing more", async () => {
    const on = await start();
    const opened = on.room.openAddress?.(L1_ALICE, null);
    if (opened?.ok !== true) throw new Error("no session");
    await on.room.reader.readPositions(opened.session, null, { timeoutMs: 4_000, lane: "read" });
    // From here on reads of accounts fail.
    on.sim.faults.add({ kind: "errorBefore", match: ACCOUNT_READ });
    const byMaster = await enterUntilRefused(on, on.session(MASTER));
    const bySub = await enterUntilRefused(on, on.session(SUB));
    expect([byMaster.takenCount, bySub.takenCount]).toEqual([USED_PER_MINUTE - KEPT_FOR_EXITS, 0]);
  });

  it("whose address is learnt late: what each has used goes along", async () => {
    const on = await start();
    const [master, sub] = [on.session(MASTER), on.session(SUB)];
    on.sim.faults.add({ kind: "errorBefore", match: ACCOUNT_READ });
    for (let count = 0; count < 20; count++)
      expect(await place(on, count % 2 === 0 ? sub : master, "trade")).toMatchObject({ outcome: "accepted" });
    on.sim.faults.clear();
    on.clock.advance(10_000);
    // Each account shows its address with its next transaction of any kind.
    expect(await place(on, sub, "exit")).toMatchObject({ outcome: "accepted" });
    const byMaster = await enterUntilRefused(on, master);
    const bySub = await enterUntilRefused(on, sub);
    expect(20 + byMaster.takenCount + bySub.takenCount).toBe(USED_PER_MINUTE - KEPT_FOR_EXITS);
  });
});

describe("leverage and the like", () => {
  it("are held back before the venue refuses them, with the time to wait; orders, closes and cancels are not", async () => {
    const on = await start();
    const session = on.session(MASTER);
    let waitMs: number | undefined;
    const set = (count: number): Promise<SettingOutcome> => {
      const options = { timeoutMs: 30_000, lane: "trade" as const };
      const change = on.room.settings?.setLeverage(session, on.btc, 5 + (count % 2), options);
      if (change === undefined) return Promise.reject(new Error("none"));
      // Seen at the moment of the answer: time passes until the test has it.
      const seen = change.finally(() => {
        waitMs = on.room.settings?.waitMs?.(session, "trade");
      });
      return untilSettled(on.clock, seen);
    };
    let refused: SettingOutcome = { outcome: "unknown", cause: "NONE" };
    let takenCount = 0;
    for (; takenCount <= 2 * OTHERS_PER_MINUTE; takenCount++) {
      refused = await set(takenCount);
      if (refused.outcome !== "accepted") break;
      // Each change executes before the next request, which reads it.
      on.clock.advance(500);
    }
    expect(takenCount).toBe(OTHERS_PER_MINUTE - OTHERS_KEPT_FOR_EXITS);
    expect(refused).toMatchObject({
      outcome: "rejected",
      reason: "RATE_LIMITED",
      venueCode: "OTHER_TX_BUDGET",
      sent: false,
    });
    if (refused.outcome !== "rejected") throw new Error("not refused");
    expect(refused.retryAfterMs).toBeGreaterThan(0);
    expect(refused.retryAfterMs).toBeLessThanOrEqual(MINUTE_MS + SLACK_MS);
    // The router sees it.
    expect(waitMs).toBe(refused.retryAfterMs);
    expect(on.room.settings?.waitMs?.(session, "exit")).toBe(0);
    // Another account of the address has nothing left.
    const bySub = await on.room.settings?.setLeverage(on.session(SUB), on.btc, 7, { timeoutMs: 30_000, lane: "trade" });
    expect(bySub).toMatchObject({ outcome: "rejected", venueCode: "OTHER_TX_BUDGET", sent: false });
    expect(await place(on, session, "exit")).toMatchObject({ outcome: "accepted" });
    expect(await place(on, session, "trade")).toMatchObject({ outcome: "accepted" });
    const ref = { clientIdHex: nextClientId() };
    const canceled = on.room.orders.cancel(session, on.btc, ref, { timeoutMs: 30_000, lane: "exit" });
    expect(await untilSettled(on.clock, canceled)).not.toMatchObject({ outcome: "rejected", reason: "RATE_LIMITED" });
  });
});

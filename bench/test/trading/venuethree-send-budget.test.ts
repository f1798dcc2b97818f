/**
 * venuethree counts transactions by first-layer address, whose accounts share the budget, and counts leverage and the like
 * once more, by a smaller number. The room against its local venue with the true limits, on one virtual clock.
 */
import { afterEach, describe, expect, it } from "vitest";
import type { Instrument } from "../../../engine/domain/instrument.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import type { PlaceOutcome } from "../../../engine/domain/order.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountSession, Lane, SettingOutcome, VenueRoom } from "../../../engine/ports.js";
import { publicKeyOf } from "../../../feeds/venuethree/sign/schnorr.js";
import { decodeDetails } from "../../../feeds/venuethree/market/decode-slow.js";
import { untilSettled } from "../../../feeds/shared/test/http-time.js";
import { createVenuethreeRoom } from "../../../feeds/venuethree/room.js";
import { buildInstruments } from "../../../feeds/venuethree/market/symbols.js";
import { startVenuethreeSim, type VenuethreeSim } from "../../sim/venuethree/sim.js";
import { commandOf, nextClientId, open, wholeTicks } from "../support/trading-half.js";

/** Of one address, and of another. */
const MASTER = 516;
const SUB = 281_474_976_710_000;
const STRANGER = 600;
const ADDRESS = `0x${"a1".repeat(20)}`;
const OTHER_ADDRESS = `0x${"b0".repeat(20)}`;
/** Made for these tests, of no value. */
const KEYS = new Map([MASTER, SUB, STRANGER].map((index, at) => [index, `${at + 1}${at + 1}`.repeat(40)]));
/** 80 % of the venue's 60 a minute, and what of it is left to exits. */
const USED_PER_MINUTE = 48;
const KEPT_FOR_EXITS = 12;
/** The same of its 40 of other types. */
const OTHERS_PER_MINUTE = 32;
const OTHERS_KEPT_FOR_EXITS = 8;
const ACCOUNT_READ = "GET /api/v1/account";
const MINUTE_MS = 60_000;
/** A bucket of the window. */
const SLACK_MS = 3_000;

interface Bench {
  readonly sim: VenuethreeSim;
  readonly clock: VirtualClock;
  readonly room: VenueRoom;
  readonly btc: Instrument;
  session(accountIndex: number): AccountSession;
  readonly stop: () => Promise<void>;
}

let bench: Bench | null = null;

afterEach(async () => {
  await bench?.stop();
  bench = null;
});

async function start(): Promise<Bench> {
  // The room measures its offset by the Date of the answers, which is the real one.
  const clock = new VirtualClock(Date.now());
  const accounts = [...KEYS].map(([accountIndex, key]) => ({
    accountIndex,
    l1Address: accountIndex === STRANGER ? OTHER_ADDRESS : ADDRESS,
    deposit: "1000000",
    positions: [{ symbol: "BTC", size: "1" }],
    apiKeys: [{ apiKeyIndex: 5, publicKey: Buffer.from(publicKeyOf(Buffer.from(key, "hex"))).toString("hex") }],
  }));
  const sim = await startVenuethreeSim({
    seed: 11,
    clock,
    symbols: ["BTC"],
    accounts,
    limits: { readsPerMinute: 1_000_000 },
  });
  const answer = await fetch(`${sim.restUrl}/api/v1/orderBookDetails?filter=perp`);
  const details = decodeDetails(await answer.text());
  if (details === null) throw new Error("no listing");
  const btc = buildInstruments(details.markets, { makerFeeMilliBps: 0, takerFeeMilliBps: 0 }).bySymbol.get("BTC");
  if (btc === undefined) throw new Error("BTC is not listed");
  // Not started: what trades needs no market data.
  const room = createVenuethreeRoom({
    restUrl: sim.restUrl,
    wsUrl: sim.wsUrl,
    symbols: ["BTC"],
    clock,
    random: createSeededRandom(1),
    logger: silentLogger,
    limits: { restPerMinute: 1_000_000, sendsPerMinute: USED_PER_MINUTE },
  });
  bench = {
    sim,
    clock,
    room,
    btc,
    session: (accountIndex) => open(room, { apiKeyPrivateKey: KEYS.get(accountIndex), accountIndex }),
    async stop() {
      await room.stop();
      await sim.stop();
    },
  };
  return bench;
}

/** An entry that rests, or a close of one lot. */
function place({ btc, room, sim }: Bench, session: AccountSession, lane: Lane): Promise<PlaceOutcome> {
  const mark = sim.exchange.mark("BTC").markE8 / 1e8;
  const command = commandOf(btc, {
    ...(lane === "exit" ? { side: "SELL" as const } : { type: "LIMIT" as const, timeInForce: "GTC" as const }),
    reduceOnly: lane === "exit",
    priceTicks: wholeTicks(btc, mark * (lane === "exit" ? 0.97 : 0.9)),
    qtyLots: 100,
  });
  // Long, since the room measures its offset by the Date of answers, which knows nothing of steps of this clock.
  return room.orders.place(session, command, { timeoutMs: 30_000, lane });
}

/** Orders until one is refused; how many were taken, and the refusal. */
async function placeUntilRefused(
  on: Bench,
  session: AccountSession,
  lane: Lane,
): Promise<{ readonly takenCount: number; readonly refused: PlaceOutcome }> {
  for (let takenCount = 0; takenCount <= 2 * USED_PER_MINUTE; takenCount++) {
    const refused = await place(on, session, lane);
    if (refused.outcome !== "accepted") return { takenCount, refused };
  }
  throw new Error("nothing was refused");
}

describe("two accounts of one address", () => {
  it("share its transactions: what is kept for exits, entries of neither take", async () => {
    const on = await start();
    const [master, sub] = [on.session(MASTER), on.session(SUB)];
    const byMaster = await placeUntilRefused(on, master, "trade");
    const bySub = await placeUntilRefused(on, sub, "trade");
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
    await placeUntilRefused(on, on.session(MASTER), "trade");
    const byStranger = await placeUntilRefused(on, on.session(STRANGER), "trade");
    expect(byStranger.takenCount).toBe(USED_PER_MINUTE - KEPT_FOR_EXITS);
  });

  it("known from a read of all accounts of the address, which asks nothing more", async () => {
    const on = await start();
    const opened = on.room.openAddress?.(ADDRESS);
    if (opened?.ok !== true) throw new Error("no session");
    await on.room.reader.readPositions(opened.session, null, { timeoutMs: 4_000, lane: "read" });
    // From here on nobody answers for an account.
    on.sim.faults.add({ kind: "errorBefore", match: ACCOUNT_READ });
    const byMaster = await placeUntilRefused(on, on.session(MASTER), "trade");
    const bySub = await placeUntilRefused(on, on.session(SUB), "trade");
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
    // Either tells its address with its next transaction, whatever kind it is.
    expect(await place(on, sub, "exit")).toMatchObject({ outcome: "accepted" });
    const byMaster = await placeUntilRefused(on, master, "trade");
    const bySub = await placeUntilRefused(on, sub, "trade");
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
      // Executed before the next is asked for, which reads it.
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
    // Another account of the address has nothing more.
    const bySub = await on.room.settings?.setLeverage(on.session(SUB), on.btc, 7, { timeoutMs: 30_000, lane: "trade" });
    expect(bySub).toMatchObject({ outcome: "rejected", venueCode: "OTHER_TX_BUDGET", sent: false });
    expect(await place(on, session, "exit")).toMatchObject({ outcome: "accepted" });
    expect(await place(on, session, "trade")).toMatchObject({ outcome: "accepted" });
    const ref = { clientIdHex: nextClientId() };
    const canceled = on.room.orders.cancel(session, on.btc, ref, { timeoutMs: 30_000, lane: "exit" });
    expect(await untilSettled(on.clock, canceled)).not.toMatchObject({ outcome: "rejected", reason: "RATE_LIMITED" });
  });
});

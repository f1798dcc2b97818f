/**
 * venueone's cumulative address budget (10 000 requests and one for each USDC traded) keeps a part for exits: the
 * room against the local venue with a small budget, on one virtual clock.
 */
import { describe, expect, it } from "vitest";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { PlaceOutcome } from "../../../engine/domain/order.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountSession, Lane, VenueRoom } from "../../../engine/ports.js";
import { createVenueoneRoom } from "../../../feeds/venueone/room.js";
import type { VenueoneSim } from "../../sim/venueone/sim.js";
import { AGENT, ALICE, KEYS } from "../../sim/venueone/test/kit.js";
import { startLocalVenues } from "../support/local-venues.js";
import { listed } from "../support/trading/bench.js";
import { roomOptions, stopAfterTest } from "../support/trading/rooms.js";
import { readListing } from "../support/trading/venueone.js";
import { commandOf, opened, placeUntilRefused, untilHolds, wholeTicks } from "../support/trading-half.js";

/** Requests that the local venue grants before anything is traded; a quarter of them is for exits. */
const GRANTED = 40;
const FOR_ENTRIES = 30;

interface Bench {
  readonly sim: VenueoneSim;
  readonly clock: VirtualClock;
  /** Not started: what trades needs no market data. */
  readonly room: VenueRoom;
  readonly btc: Instrument;
}

async function start(): Promise<Bench> {
  // The room measures its offset by the Date of the answers, which is the real one.
  const clock = new VirtualClock(Date.now());
  const options = { seed: 7, clock, symbols: ["BTC"], addressRequests: GRANTED };
  const { venueone: sim } = await startLocalVenues(["venueone"], options);
  sim.addAccount({ address: ALICE, deposit: "1000000", agents: [{ address: AGENT, name: "bot" }] });
  const room = createVenueoneRoom(roomOptions(sim, clock));
  stopAfterTest(room, sim);
  return { sim, clock, room, btc: listed(await readListing(sim.restUrl), "BTC") };
}

function place(
  { btc, room, sim }: Bench,
  session: AccountSession,
  lane: Lane,
  reduceOnly = false,
): Promise<PlaceOutcome> {
  const mark = sim.exchange.market.mark("BTC").markE8 / 1e8;
  const command = commandOf(btc, {
    ...(reduceOnly ? { side: "SELL" as const } : { type: "LIMIT" as const, timeInForce: "GTC" as const }),
    reduceOnly,
    priceTicks: wholeTicks(btc, mark * 0.9),
    qtyLots: 1_000,
  });
  // The timeout is long because the room measures its offset by the Date of answers, which does not follow steps of
  // this clock.
  return room.orders.place(session, command, { timeoutMs: 30_000, lane });
}

function enterUntilRefused(on: Bench, session: AccountSession) {
  return placeUntilRefused(() => place(on, session, "trade"), 2 * GRANTED);
}

describe("the address budget", () => {
  it("keeps a quarter of it for exits, which pass when no entry does any more", async () => {
    const on = await start();
    const session = opened(on.room.openSession({ privateKey: KEYS.alice }, null));
    const { takenCount, refused } = await enterUntilRefused(on, session);
    // The first reading comes beside the first orders, and counts those under way with it twice.
    expect(takenCount).toBeGreaterThanOrEqual(FOR_ENTRIES - 5);
    expect(takenCount).toBeLessThanOrEqual(FOR_ENTRIES);
    expect(refused).toMatchObject({ reason: "RATE_LIMITED", venueCode: "ADDRESS_BUDGET", sent: false });
    expect(refused.outcome === "rejected" ? refused.retryAfterMs : null).toBeGreaterThan(0);
    // The router sees it.
    expect(on.room.orderWaitMs?.(session, "trade")).toBeGreaterThan(0);
    expect(on.room.orderWaitMs?.(session, "exit")).toBe(0);
    for (let count = 0; count < GRANTED - FOR_ENTRIES; count++) {
      // There is nothing to close. That is the venue's refusal of the order; its budget would refuse the action.
      expect(await place(on, session, "exit", true)).toMatchObject({
        outcome: "rejected",
        venueCode: "reduceOnlyRejected",
      });
    }
    const cancelled = await on.room.orders.cancelAll?.(session, on.btc, { timeoutMs: 4_000, lane: "exit" });
    expect(cancelled).toMatchObject({ outcome: "accepted", canceledCount: takenCount, failed: [] });
  });

  it("opens again with the volume that is traded, by a reading ten seconds after the last", async () => {
    const on = await start();
    const session = opened(on.room.openSession({ privateKey: KEYS.alice }, null));
    await enterUntilRefused(on, session);
    // Another program of the account trades, which grants some thousand requests more.
    await trade(on);
    expect(await place(on, session, "trade")).toMatchObject({ outcome: "rejected", venueCode: "ADDRESS_BUDGET" });
    on.clock.advance(10_000);
    // A look at the wait asks for the reading, as the router does.
    await untilHolds("the budget is read again", () => on.room.orderWaitMs?.(session, "trade") === 0);
    expect(await place(on, session, "trade")).toMatchObject({ outcome: "accepted" });
  });

  it("counts an agent's requests with those of its account", async () => {
    const on = await start();
    await enterUntilRefused(on, opened(on.room.openSession({ privateKey: KEYS.alice }, null)));
    const agent = opened(on.room.openSession({ privateKey: KEYS.agent }, null));
    const read = await on.room.reader.readPositions(agent, null, { timeoutMs: 4_000, lane: "read" });
    expect(read.ok).toBe(true);
    expect(on.room.orderWaitMs?.(agent, "trade")).toBeGreaterThan(0);
    expect(await place(on, agent, "trade")).toMatchObject({ outcome: "rejected", venueCode: "ADDRESS_BUDGET" });
  });
});

/** Trades past this room, by another room and a key with nonces of its own, with an exit: the venue takes it. */
async function trade({ btc, clock, sim }: Bench): Promise<void> {
  const other = createVenueoneRoom(roomOptions(sim, clock));
  const session = opened(other.openSession({ privateKey: KEYS.agent }, null));
  const mark = sim.exchange.market.mark("BTC").markE8 / 1e8;
  const command = commandOf(btc, { priceTicks: wholeTicks(btc, mark * 1.03), qtyLots: 10_000 });
  const bought = await other.orders.place(session, command, { timeoutMs: 4_000, lane: "exit" });
  await other.stop();
  if (bought.outcome !== "accepted") throw new Error(JSON.stringify(bought));
}

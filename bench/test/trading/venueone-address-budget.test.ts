/**
 * venueone's cumulative address budget (10 000 requests and one for each USDC traded) keeps a part for exits: the
 * room against the local venue with a small budget, on one virtual clock.
 */
import { afterEach, describe, expect, it } from "vitest";
import type { Instrument } from "../../../engine/domain/instrument.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import type { PlaceOutcome } from "../../../engine/domain/order.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountSession, Lane, VenueRoom } from "../../../engine/ports.js";
import { createMemoryReservations } from "../../../feeds/shared/test/memory-reservations.js";
import { decodeUniverse } from "../../../feeds/venueone/market/decode.js";
import { createVenueoneRoom } from "../../../feeds/venueone/room.js";
import { buildInstruments, DEFAULT_FEES } from "../../../feeds/venueone/market/symbols.js";
import { startVenueoneSim, type VenueoneSim } from "../../sim/venueone/sim.js";
import { ALICE, AGENT, KEYS } from "../../sim/venueone/test/kit.js";
import { commandOf, opened, untilHolds, wholeTicks } from "../support/trading-half.js";

/** What the local venue grants before anything is traded; a quarter of it is for exits. */
const GRANTED = 40;
const FOR_ENTRIES = 30;

interface Bench {
  readonly sim: VenueoneSim;
  readonly clock: VirtualClock;
  readonly room: VenueRoom;
  readonly btc: Instrument;
  readonly stop: () => Promise<void>;
}

let bench: Bench | null = null;

async function start(): Promise<Bench> {
  // The room measures its offset by the Date of the answers, which is the real one.
  const clock = new VirtualClock(Date.now());
  const sim = await startVenueoneSim({
    seed: 7,
    clock,
    symbols: ["BTC"],
    accounts: [{ address: ALICE, deposit: "1000000", agents: [{ address: AGENT, name: "bot" }] }],
    limits: { ipWeightPerMinute: 10_000_000, addressRequests: GRANTED },
  });
  const meta = await fetch(`${sim.restUrl}/info`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"type":"metaAndAssetCtxs"}',
  });
  const btc = buildInstruments(decodeUniverse(await meta.json()).meta, DEFAULT_FEES).bySymbol.get("BTC");
  if (btc === undefined) throw new Error("BTC is not listed");
  const room = roomAt(sim, clock);
  bench = {
    sim,
    clock,
    room,
    btc,
    async stop() {
      await room.stop();
      await sim.stop();
    },
  };
  return bench;
}

/** Not started: what trades needs no market data. */
function roomAt(sim: VenueoneSim, clock: VirtualClock): VenueRoom {
  return createVenueoneRoom({
    restUrl: sim.restUrl,
    wsUrl: sim.wsUrl,
    isMainnet: true,
    symbols: ["BTC"],
    clock,
    random: createSeededRandom(1),
    logger: silentLogger,
    nonces: createMemoryReservations(),
  });
}

afterEach(async () => {
  await bench?.stop();
  bench = null;
});

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
  // Long, since the room measures its offset by the Date of answers, which knows nothing of steps of this clock.
  return room.orders.place(session, command, { timeoutMs: 30_000, lane });
}

/** Entries until one is refused; how many were taken, and the refusal. */
async function enterUntilRefused(
  on: Bench,
  session: AccountSession,
): Promise<{ readonly takenCount: number; readonly refused: PlaceOutcome }> {
  for (let takenCount = 0; takenCount <= 2 * GRANTED; takenCount++) {
    const refused = await place(on, session, "trade");
    if (refused.outcome !== "accepted") return { takenCount, refused };
  }
  throw new Error("no entry was refused");
}

describe("the address budget", () => {
  it("keeps a quarter of it for exits, which pass when no entry does any more", async () => {
    const on = await start();
    const session = opened(on.room.openSession({ privateKey: KEYS.alice }));
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
      // There is nothing to close: that is the venue's word on the order, where its budget refuses the action.
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
    const session = opened(on.room.openSession({ privateKey: KEYS.alice }));
    await enterUntilRefused(on, session);
    // Another program of the account trades: some thousand requests more.
    await trade(on);
    expect(await place(on, session, "trade")).toMatchObject({ outcome: "rejected", venueCode: "ADDRESS_BUDGET" });
    on.clock.advance(10_000);
    // Asked for by whoever looks, as the router does.
    await untilHolds("the budget is read again", () => on.room.orderWaitMs?.(session, "trade") === 0);
    expect(await place(on, session, "trade")).toMatchObject({ outcome: "accepted" });
  });

  it("counts an agent's requests with those of its account", async () => {
    const on = await start();
    await enterUntilRefused(on, opened(on.room.openSession({ privateKey: KEYS.alice })));
    const agent = opened(on.room.openSession({ privateKey: KEYS.agent }));
    const read = await on.room.reader.readPositions(agent, null, { timeoutMs: 4_000, lane: "read" });
    expect(read.ok).toBe(true);
    expect(on.room.orderWaitMs?.(agent, "trade")).toBeGreaterThan(0);
    expect(await place(on, agent, "trade")).toMatchObject({ outcome: "rejected", venueCode: "ADDRESS_BUDGET" });
  });
});

/** Past this room, by a room of its own and a key with nonces of its own, with an exit: the venue takes it. */
async function trade({ btc, clock, sim }: Bench): Promise<void> {
  const other = roomAt(sim, clock);
  const session = opened(other.openSession({ privateKey: KEYS.agent }));
  const mark = sim.exchange.market.mark("BTC").markE8 / 1e8;
  const command = commandOf(btc, { priceTicks: wholeTicks(btc, mark * 1.03), qtyLots: 10_000 });
  const bought = await other.orders.place(session, command, { timeoutMs: 4_000, lane: "exit" });
  await other.stop();
  if (bought.outcome !== "accepted") throw new Error(JSON.stringify(bought));
}

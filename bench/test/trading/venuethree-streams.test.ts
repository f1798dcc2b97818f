/** venuethree's account streams against its local venue, over real sockets: what is pushed, missed, and made good. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { createSystemClock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import type { AccountEvent, AccountSession, Read, VenueRoom } from "../../../engine/ports.js";
import { publicKeyOf } from "../../../feeds/venuethree/sign/schnorr.js";
import { createVenuethreeRoom } from "../../../feeds/venuethree/room.js";
import { startVenuethreeSim, type VenuethreeSim } from "../../sim/venuethree/sim.js";
import { commandOf, nextClientId, open, PATIENT, watch, wholeTicks, type Watching } from "../support/trading-half.js";

const ALICE = 516;
const BOB = 281_474_976_710_600;
/** Made for these tests, of no value. */
const KEYS = { alice: "11".repeat(40), bob: "22".repeat(40) };

interface Bench {
  readonly sim: VenuethreeSim;
  readonly room: VenueRoom;
  readonly btc: Instrument;
  readonly alice: AccountSession;
  readonly bob: AccountSession;
  readonly mark: () => number;
}

/** For what a real clock brings: no pause of the machine is taken for a failure. */
const PATIENCE = { timeout: 20_000, interval: 20 };

let bench: Bench | null = null;

function got<T>(read: Read<T>): T {
  if (!read.ok) throw new Error(`${read.code}: ${read.message}`);
  return read.value;
}

function registration(accountIndex: number, l1: string, privateKey: string) {
  const publicKey = Buffer.from(publicKeyOf(Buffer.from(privateKey, "hex"))).toString("hex");
  return {
    accountIndex,
    l1Address: `0x${l1.repeat(20)}`,
    deposit: "1000000",
    apiKeys: [{ apiKeyIndex: 4, publicKey }],
  };
}

async function start(): Promise<Bench> {
  const sim = await startVenuethreeSim({
    seed: 11,
    symbols: ["BTC"],
    accounts: [registration(ALICE, "a1", KEYS.alice), registration(BOB, "b0", KEYS.bob)],
    // Nobody but these two trades: every fill is theirs.
    flow: null,
    limits: {
      readsPerMinute: 1_000_000,
      transactionsPerMinute: 1_000_000,
      messagesPerMinute: 10_000,
      takerDelayMs: 20,
      makerDelayMs: 10,
    },
  });
  const clock = createSystemClock();
  const room = createVenuethreeRoom({
    restUrl: sim.restUrl,
    wsUrl: sim.wsUrl,
    symbols: ["BTC"],
    clock,
    random: createSeededRandom(5),
    logger: silentLogger,
    limits: { restPerMinute: 1_000_000, messagesPerMinute: 10_000, connectsPerMinute: 1_000 },
  });
  await room.start();
  const btc = room.markets.get("BTC")?.instrument;
  if (btc === undefined) throw new Error("BTC is not listed");
  bench = {
    sim,
    room,
    btc,
    alice: open(room, { apiKeyPrivateKey: KEYS.alice, accountIndex: ALICE }),
    bob: open(room, { apiKeyPrivateKey: KEYS.bob, accountIndex: String(BOB) }),
    mark: () => sim.exchange.mark("BTC").markE8 / 1e8,
  };
  return bench;
}

afterEach(async () => {
  await bench?.room.stop();
  await bench?.sim.stop();
  bench = null;
});

/** Alice's bid at the mark for Bob to hit. */
async function bid({ room, btc, alice, mark }: Bench, qtyLots: number): Promise<string> {
  const clientIdHex = nextClientId();
  const priceTicks = wholeTicks(btc, mark());
  const command = commandOf(btc, { type: "LIMIT", timeInForce: "GTC", priceTicks, qtyLots, clientIdHex });
  expect(await room.orders.place(alice, command, PATIENT)).toMatchObject({ outcome: "accepted" });
  return room.orders.venueClientOrderId(clientIdHex);
}

async function hit({ room, btc, bob, mark }: Bench, qtyLots: number): Promise<void> {
  const command = commandOf(btc, {
    side: "SELL",
    qtyLots,
    priceTicks: wholeTicks(btc, mark() * 0.97),
    clientIdHex: nextClientId(),
  });
  expect(await room.orders.place(bob, command, PATIENT)).toMatchObject({ outcome: "accepted" });
}

function isOrder(clientId: string, status: string) {
  return (event: AccountEvent): boolean =>
    event.kind === "order" && event.order.venueClientOrderId === clientId && event.order.status === status;
}

function fills({ events }: Watching) {
  return events.flatMap((event) => (event.kind === "fill" ? [event] : []));
}

describe("account streams of venuethree", () => {
  it("push orders, fills and positions, each fill once, and nothing of another account", async () => {
    const on = await start();
    const alice = await watch(on.room, on.alice);
    const bob = await watch(on.room, on.bob);
    const id = await bid(on, 1_000);
    await alice.until("open order", isOrder(id, "OPEN"));
    await hit(on, 400);
    await alice.until("partly filled", isOrder(id, "PARTIALLY_FILLED"));
    await hit(on, 600);
    await alice.until("filled", isOrder(id, "FILLED"));
    await alice.until("fills", () => fills(alice).reduce((sum, fill) => sum + fill.qtyLots, 0) === 1_000);
    for (const fill of fills(alice)) expect(fill.order).toMatchObject({ side: "BUY", venueClientOrderId: id });
    expect(new Set(fills(alice).map(({ tradeId }) => tradeId)).size).toBe(fills(alice).length);
    await bob.until("fills", () => fills(bob).reduce((sum, fill) => sum + fill.qtyLots, 0) === 1_000);
    for (const fill of fills(bob)) expect(fill.order).toMatchObject({ side: "SELL" });
    await alice.until("position", () => {
      const read = alice.stream.positions();
      return read.ok && read.value[0]?.qtyLots === 1_000;
    });
    expect(got(alice.stream.positions())).toMatchObject([{ direction: "LONG", qtyLots: 1_000 }]);
    // Its end was streamed: nobody is asked. Of another account it is nothing.
    const clientIdHex = on.room.orders.parseClientOrderId?.(id) ?? "";
    const order = await on.room.reader.readOrder(on.alice, on.btc, { clientIdHex }, PATIENT);
    expect(order).toMatchObject({ ok: true, source: "stream", value: { status: "FILLED", filledLots: 1_000 } });
    expect(await on.room.reader.readOrder(on.bob, on.btc, { clientIdHex }, PATIENT)).toMatchObject({ value: null });
    await bob.until("position", () => {
      const read = bob.stream.positions();
      return read.ok && read.value[0]?.qtyLots === 1_000;
    });
    expect(got(bob.stream.positions())).toMatchObject([{ direction: "SHORT", qtyLots: 1_000 }]);
    alice.stream.close();
    bob.stream.close();
    expect(bob.stream.positions()).toMatchObject({ ok: false });
  });

  it("whose frames are dropped stand for no answer that turns on them, and are made true by the read that contradicts", async () => {
    const on = await start();
    const alice = await watch(on.room, on.alice);
    const { reader } = on.room;
    const heldLots = (): number | null => {
      const read = reader.heldPositions?.(on.alice, on.btc) ?? null;
      return read?.ok === true ? (read.value[0]?.qtyLots ?? 0) : null;
    };
    const id = await bid(on, 1_000);
    await alice.until("open order", isOrder(id, "OPEN"));
    // It is not told whether it rests for good, so the venue is read.
    await vi.waitFor(() => expect(heldLots()).toBe(0), PATIENCE);
    on.sim.faults.add({ kind: "gap", scope: ["user"], match: `:${ALICE}` });
    // His frames tell when it is done.
    const bob = await watch(on.room, on.bob);
    await hit(on, 1_000);
    await bob.until("his fill", () => fills(bob).reduce((sum, fill) => sum + fill.qtyLots, 0) === 1_000);
    const read = await reader.verifyPositions?.(on.alice, on.btc, PATIENT);
    expect(read).toMatchObject({ ok: true, source: "venue", value: [{ direction: "LONG", qtyLots: 1_000 }] });
    expect(heldLots()).not.toBe(0);
    await vi.waitFor(() => expect(heldLots()).toBe(1_000), PATIENCE);
  });

  it("after a lost connection tell what was missed: ended orders, fills, the position", async () => {
    const on = await start();
    const alice = await watch(on.room, on.alice);
    const id = await bid(on, 1_000);
    await alice.until("open order", isOrder(id, "OPEN"));
    // No new connection comes up until the fill has happened.
    const refusal = on.sim.faults.add({ kind: "refuseHandshake", status: 503 });
    on.sim.faults.add({ kind: "disconnect", scope: ["user"], match: "account_all", count: 1 });
    await hit(on, 300);
    await alice.until("stale stream", (event) => event.kind === "state" && event.state === "STALE");
    await hit(on, 700);
    expect(alice.stream.positions()).toMatchObject({ ok: false });
    on.sim.faults.remove(refusal.id);
    await alice.until("filled", isOrder(id, "FILLED"));
    await alice.until("fills", () => fills(alice).reduce((sum, fill) => sum + fill.qtyLots, 0) === 1_000);
    await alice.until("LIVE again", () => alice.stream.state === "LIVE");
    await alice.until("position", () => {
      const read = alice.stream.positions();
      return read.ok && read.value[0]?.qtyLots === 1_000;
    });
    expect(got(alice.stream.positions())).toMatchObject([{ direction: "LONG", qtyLots: 1_000 }]);
    alice.stream.close();
  });

  it("never attach a key that is not the account's", async () => {
    const on = await start();
    const alice = await watch(on.room, on.alice);
    const stranger = open(on.room, { apiKeyPrivateKey: KEYS.bob, accountIndex: ALICE });
    const events: AccountEvent[] = [];
    const down = new Promise<void>((resolve) => {
      const opened = on.room.streams?.openAccountStream(stranger, (event) => {
        events.push(event);
        if (event.kind === "state" && event.state === "DOWN") resolve();
      });
      if (opened?.ok !== true) throw new Error("not opened");
    });
    await down;
    const id = await bid(on, 100);
    await alice.until("open order", isOrder(id, "OPEN"));
    expect(events).toEqual([{ kind: "state", state: "DOWN" }]);
    expect(await on.room.reader.readPositions(stranger, null, PATIENT)).toMatchObject({ ok: false, code: "AUTH" });
  });

  it("an ignored subscription is asked for again until it is acknowledged", async () => {
    const on = await start();
    on.sim.faults.add({ kind: "ignoreSubscribe", match: "account_all_trades", count: 1 });
    const alice = await watch(on.room, on.alice);
    expect(alice.stream.state).toBe("LIVE");
  });
});

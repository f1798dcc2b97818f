/** A user stream whose events are lost or late: what its streamed positions are worth, and as of when. */
import { beforeEach, describe, expect, it } from "vitest";
import type { Instrument } from "../../../engine/domain/instrument.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import type { OrderCommand, PlaceOutcome, VenueOrder } from "../../../engine/domain/order.js";
import type { VenuePosition } from "../../../engine/domain/position.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountReader, AccountSession, AccountStream, OrderSender, Read } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import { ConnectionBudget } from "../../shared/net/connection-budget.js";
import { FakeNetwork } from "../../shared/test/fake-connector.js";
import { venuetwoAccountStreams } from "./streams.js";
import { openVenuetwoSession } from "./session.js";
import { NO_FILLS } from "../test/account-harness.js";
import { VerifiedReads } from "../../shared/account/verified-reads.js";
import { streamedSessions } from "../../shared/orders/streamed-sessions.js";

const BTC = {
  venue: "venuetwo",
  symbol: "BTC",
  nativeSymbol: "BTCUSDT",
  multiplierExp10: 0,
  priceDecimals: 1,
  qtyDecimals: 3,
} as unknown as Instrument;
const OPTIONS = { timeoutMs: 800, lane: "exit" } as const;
const ID = "8c1f0a52d9e34b7790aa41c2d5e6f701";
const BUY = {
  instrument: BTC,
  side: "BUY",
  type: "MARKET",
  timeInForce: "IOC",
  priceTicks: 1_000,
  qtyLots: 10,
  reduceOnly: false,
  positionSide: "BOTH",
  clientIdHex: ID,
} as OrderCommand;

let clock: VirtualClock;
let network: FakeNetwork;
/** What the venue holds, lots, and whether it answers. */
let truth: { lots: number; isDown: boolean; readCount: number };
let reader: AccountReader;
let orders: OrderSender;
let session: AccountSession;
let stream: AccountStream;

const position = (qtyLots: number): VenuePosition =>
  ({
    venue: "venuetwo",
    symbol: "BTC",
    nativeSymbol: "BTCUSDT",
    direction: "LONG",
    positionSide: "BOTH",
    qtyLots,
    entryPrice: "100",
    markPrice: null,
    liquidationPrice: null,
    unrealizedPnl: "0",
    leverage: 5,
    marginMode: "cross",
    collateral: null,
    tsVenueMs: clock.wallMs(),
  }) as VenuePosition;

async function read<T>(value: T): Promise<Read<T>> {
  return truth.isDown ? failedRead("TIMEOUT", "down") : { ok: true, value, asOfMs: clock.wallMs(), source: "venue" };
}

function filled(filledLots: number): PlaceOutcome {
  const order = { venueClientOrderId: ID, status: "FILLED", filledLots } as unknown as VenueOrder;
  return { outcome: "accepted", order, ackMs: 5 };
}

beforeEach(async () => {
  clock = new VirtualClock(1_790_000_000_000);
  network = new FakeNetwork();
  network.pong = "";
  truth = { lots: 0, isDown: false, readCount: 0 };
  const rest = {
    readPositions: () => {
      truth.readCount++;
      return read(truth.lots === 0 ? [] : [position(truth.lots)]);
    },
    readOpenOrders: () => read([]),
    readOrder: () => read(null),
    readBalances: () => read([]),
    readFeeRates: () => Promise.resolve(failedRead("VENUE_ERROR", "not here")),
    findOrder: () => read(null),
    readAccount: () => Promise.resolve(failedRead("VENUE_ERROR", "not here")),
  };
  const streams = venuetwoAccountStreams({
    wsUrl: "ws://venue",
    layout: "single",
    connector: network.connector,
    clock,
    random: createSeededRandom(3),
    logger: silentLogger,
    budget: new ConnectionBudget(clock, { maxConnections: 64, connectsPerMinute: 300 }),
    reader: rest,
    history: NO_FILLS,
    listenKeys: {
      create: () => Promise.resolve({ ok: true, value: "key", asOfMs: 1, source: "venue" }),
      extend: () => Promise.resolve({ ok: true, value: "extended", asOfMs: 1, source: "venue" }),
    },
    instrumentOf: (nativeSymbol) => (nativeSymbol === "BTCUSDT" ? BTC : null),
    clockOffsetMs: () => 0,
    latestVenueMs: () => Number.POSITIVE_INFINITY,
  });
  const sender: Required<OrderSender> = {
    placeBoundMs: () => 60_000,
    place: () => Promise.resolve(filled(10)),
    amend: () => Promise.resolve({ outcome: "accepted", order: null }),
    cancel: () => Promise.resolve({ outcome: "accepted" }),
    cancelAll: () => Promise.resolve({ outcome: "accepted", canceledCount: 0, failed: [] }),
    scheduleCancel: () => Promise.resolve({ outcome: "accepted" }),
    venueClientOrderId: (clientIdHex) => clientIdHex,
    parseClientOrderId: (text) => text,
  };
  const verified = new VerifiedReads<readonly VenuePosition[]>(clock);
  ({ orders, reader } = streamedSessions({ rest, orders: sender, streams, verified }));
  const opened = openVenuetwoSession({ apiKey: "key", apiSecret: "s" });
  if (!opened.ok) throw new Error(opened.problem);
  session = opened.session;
  const listening = streams.openAccountStream(session, () => {});
  if (!listening.ok) throw new Error(listening.problem);
  stream = listening.stream;
  await clock.advanceAsync(10);
  network.last.open();
  await clock.advanceAsync(3_000);
  expect([stream.state, held()]).toEqual(["LIVE", 0]);
});

async function wait(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 250) await clock.advanceAsync(Math.min(250, left));
}

function held(): number | null {
  const found = reader.heldPositions?.(session, BTC) ?? null;
  return found?.ok === true ? (found.value[0]?.qtyLots ?? 0) : null;
}

function tell(event: object, E = clock.wallMs()): void {
  network.last.receive(JSON.stringify({ ...event, E, T: E }));
}

const accountEvent = (lots: number): object => {
  const P = [
    { s: "BTCUSDT", pa: (lots / 1_000).toFixed(3), ep: "100.0", cr: "0", up: "0", mt: "cross", iw: "0", ps: "BOTH" },
  ];
  return { e: "ACCOUNT_UPDATE", a: { m: "ORDER", B: [], P } };
};
const orderEvent = (X: string, z: string, c = ID): object => {
  const names = {
    s: "BTCUSDT",
    c,
    S: "BUY",
    o: "MARKET",
    f: "IOC",
    q: "0.010",
    p: "0",
    ap: "100",
    sp: "0",
    x: "TRADE",
  };
  const more = { X, i: 8, l: "0.010", z, L: "100", T: 1, t: 5, m: false, R: false, wt: "CONTRACT_PRICE", ot: "MARKET" };
  return { e: "ORDER_TRADE_UPDATE", o: { ...names, ...more, ps: "BOTH", cp: false, rp: "0" } };
};
const asOfMs = (): number | null => {
  const found = stream.positions();
  return found.ok ? found.asOfMs : null;
};

describe("an account of venuetwo whose events are dropped", () => {
  it("does not read as flat what we have just opened ourselves", async () => {
    await orders.place(session, BUY, OPTIONS);
    truth.lots = 10;
    for (let second = 0; second < 40; second++) {
      await wait(1_000);
      expect(held()).not.toBe(0);
    }
    expect(held()).toBe(10);
  });

  it("is not trusted after an order while the venue can not be asked, and LIVE is withheld", async () => {
    await orders.place(session, BUY, OPTIONS);
    truth.isDown = true;
    await wait(10_000);
    expect([held(), stream.positions().ok]).toEqual([null, false]);
    truth.isDown = false;
    truth.lots = 10;
    await wait(20_000);
    expect([held(), stream.state]).toEqual([10, "LIVE"]);
  });

  it("is trusted at once, without a read, when the order was streamed whole", async () => {
    await orders.place(session, BUY, OPTIONS);
    const before = truth.readCount;
    expect(held()).toBeNull();
    // What it filled is known by its answer: the frame of the order adds nothing to that.
    tell(accountEvent(10));
    expect(held()).toBe(10);
    tell(orderEvent("FILLED", "0.010"));
    expect(held()).toBe(10);
    await wait(20_000);
    expect(truth.readCount).toBe(before);
  });

  it("is read at the venue where an answer turns on it; what contradicts the stream is made true first", async () => {
    truth.lots = 10;
    const verify = async (): Promise<unknown> => {
      const found = await reader.verifyPositions?.(session, BTC, OPTIONS);
      return found?.ok === true ? [found.source, found.value[0]?.qtyLots] : found;
    };
    const before = truth.readCount;
    expect(await Promise.all([verify(), verify()])).toEqual([
      ["venue", 10],
      ["venue", 10],
    ]);
    expect(truth.readCount - before).toBeLessThanOrEqual(2);
    expect(held()).toBeNull();
    await wait(6_000);
    expect(held()).toBe(10);
  });

  it("says as of when it is proven: not of a pong, nor of an order's event", async () => {
    const provenMs = asOfMs();
    await wait(20_000);
    tell(orderEvent("NEW", "0", "other"));
    expect(asOfMs()).toBe(provenMs);
    tell(accountEvent(3));
    expect(asOfMs()).toBe(clock.wallMs());
  });

  it("whose events are late is not trusted until it was read", async () => {
    tell(accountEvent(3), clock.wallMs() - 8_000);
    expect(held()).toBeNull();
    truth.lots = 3;
    await wait(6_000);
    expect(held()).toBe(3);
  });
});

describe("an account of venuetwo over a connection that falls silent", () => {
  it("is not LIVE, and after that only when it was read", async () => {
    network.pong = null;
    truth.isDown = true;
    await wait(8_000);
    expect([held(), stream.positions().ok]).toEqual([null, false]);
    truth.lots = 10;
    network.pong = "";
    await wait(3_000);
    expect([held(), stream.positions().ok]).toEqual([null, false]);
    truth.isDown = false;
    await wait(30_000);
    expect([held(), stream.state]).toEqual([10, "LIVE"]);
  });
});

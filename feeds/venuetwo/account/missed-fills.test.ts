/** Fills of the time in which a user stream of venuetwo was lost: each is reported, and reported once. */
import { beforeEach, describe, expect, it } from "vitest";
import { delay } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import { type Logger, silentLogger } from "../../../engine/domain/logger.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountEvent, AccountStream } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import { FakeNetwork } from "../../shared/test/fake-connector.js";
import type { ListenKeys } from "./stream-key.js";
import type { VenuetwoAccountStreams } from "./streams.js";
import { accountUpdate, BTC, fill, order, position, session, streamsOf, Truth } from "../test/account-harness.js";

const ETH: Instrument = { ...BTC, symbol: "ETH", nativeSymbol: "ETHUSDT" };

let clock: VirtualClock;
let network: FakeNetwork;
let truth: Truth;
let events: AccountEvent[];
let streams: VenuetwoAccountStreams;
let stream: AccountStream;
/** How far the venue's clock is thought to be ahead. */
let aheadMs: number;
let logged: string[];
/** Does the venue still know the listen key? */
let isKeyKnown: boolean;
let key: string;
let instruments: Map<string, Instrument>;

beforeEach(async () => {
  logged = [];
  isKeyKnown = true;
  key = "listen/1";
  aheadMs = 0;
  clock = new VirtualClock(1_790_000_000_000);
  network = new FakeNetwork();
  network.pong = "";
  truth = new Truth(clock);
  events = [];
  instruments = new Map([BTC, ETH].map((instrument) => [instrument.nativeSymbol, instrument]));
  const instrumentOf = (nativeSymbol: string): Instrument | null => instruments.get(nativeSymbol) ?? null;
  const logger: Logger = {
    ...silentLogger,
    error: (event, fields) => {
      if (event === "venuetwo.account.fills-unread") logged.push(String(fields?.["symbol"]));
    },
  };
  const listenKeys: ListenKeys = {
    create: async () => ({ ok: true, value: key, asOfMs: 1, source: "venue" }),
    extend: async () => ({ ok: true, value: isKeyKnown ? "extended" : "expired", asOfMs: 1, source: "venue" }),
  };
  streams = streamsOf({
    clock,
    network,
    truth,
    history: truth,
    aheadMs: () => aheadMs,
    instrumentOf,
    logger,
    listenKeys,
  });
  truth.openOrders = [order("5", "OPEN")];
  // Of the time before anybody streamed.
  truth.fills = [fill("4", "1", 3, clock.wallMs() - 5_000)];
  const opened = streams.openAccountStream(session("a"), (event) => events.push(event));
  if (!opened.ok) throw new Error(opened.problem);
  stream = opened.stream;
  await clock.advanceAsync(10);
  network.last.open();
  await wait(5_000);
  expect(stream.state).toBe("LIVE");
  events.length = 0;
});

async function wait(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 250) await clock.advanceAsync(Math.min(250, left));
}

async function lose(): Promise<void> {
  network.last.end(1006);
  await wait(2_000);
}

async function reconnect(): Promise<void> {
  network.last.open();
  await clock.advanceAsync(10);
}

const fills = (): string[] =>
  events.flatMap((event) => (event.kind === "fill" ? [`${event.tradeId} ${event.order.venueOrderId}`] : []));

/** ORDER_TRADE_UPDATE of a trade. */
function tradeUpdate(orderId: string, tradeId: number, l: string, z: string): string {
  const E = clock.wallMs();
  const names = { s: "BTCUSDT", c: "abc", S: "SELL", o: "LIMIT", f: "GTC", q: "0.010", p: "100.0", ap: "100", sp: "0" };
  const trade = {
    x: "TRADE",
    X: "PARTIALLY_FILLED",
    i: orderId,
    l,
    z,
    L: "100.0",
    T: E,
    t: tradeId,
    N: "USDT",
    n: "0.01",
  };
  const rest = { b: "0", a: "0", m: true, R: true, wt: "CONTRACT_PRICE", ot: "LIMIT", ps: "BOTH", cp: false, rp: "0" };
  const o = { ...names, ...trade, ...rest, i: Number(orderId) };
  return JSON.stringify({ e: "ORDER_TRADE_UPDATE", E, T: E, o });
}

describe("fills of a gap of the stream", () => {
  it("are reported after the gap, oldest first, with the end of their order, and no older ones", async () => {
    await lose();
    truth.openOrders = [];
    truth.finishedOrders.set("5", order("5", "FILLED", 10));
    truth.fills.push(fill("5", "12", 4, clock.wallMs() + 1), fill("5", "11", 6, clock.wallMs()));
    await reconnect();
    expect(stream.state).toBe("LIVE");
    expect(fills()).toEqual(["BTCUSDT:11 5", "BTCUSDT:12 5"]);
    expect(events.filter(({ kind }) => kind === "fill")).toMatchObject([
      { qtyLots: 6, price: "100", fee: { amount: "0.01", asset: "USDT" }, order: { status: "FILLED", filledLots: 10 } },
      { qtyLots: 4, order: { status: "FILLED", filledLots: 10 } },
    ]);
  });

  it("are reported once, whether an event or a read brings them first", async () => {
    network.last.receive(tradeUpdate("5", 10, "0.002", "0.002"));
    truth.fills.push(fill("5", "10", 2, clock.wallMs()));
    expect(fills()).toEqual(["BTCUSDT:10 5"]);
    await lose();
    truth.fills.push(fill("5", "11", 3, clock.wallMs()));
    truth.openOrders = [order("5", "PARTIALLY_FILLED", 5)];
    await reconnect();
    // An event of the old connection that comes late, and a second gap.
    network.last.receive(tradeUpdate("5", 11, "0.003", "0.005"));
    await lose();
    await reconnect();
    await wait(61_000);
    expect(fills()).toEqual(["BTCUSDT:10 5", "BTCUSDT:11 5"]);
  });

  it("of an order that the stream never showed come with that order, which is looked up", async () => {
    await lose();
    truth.movedSymbols = ["BTCUSDT"];
    truth.openOrders = [];
    truth.finishedOrders.set("5", order("5", "CANCELED"));
    truth.finishedOrders.set("9", { ...order("9", "FILLED", 10), venueClientOrderId: "autoclose-1" });
    truth.fills.push(fill("9", "11", 10, clock.wallMs()));
    await reconnect();
    const told = events.flatMap((event) => (event.kind === "order" ? [event.order.venueOrderId] : []));
    expect([told, fills()]).toEqual([["5", "9"], ["BTCUSDT:11 9"]]);
    expect(events.find(({ kind }) => kind === "fill")).toMatchObject({ isLiquidation: true });
  });

  it("are asked for from a little before the last LIVE on, of symbols with orders, positions or a moved balance", async () => {
    truth.openOrders = [];
    truth.finishedOrders.set("5", order("5", "CANCELED"));
    await lose();
    await reconnect();
    // BTCUSDT had an open order before the gap; nothing is asked of a symbol that is not listed here.
    truth.movedSymbols = ["OLDUSDT"];
    await lose();
    await reconnect();
    expect(new Set(truth.fillReads.map(({ symbol }) => symbol))).toEqual(new Set(["BTCUSDT"]));
    for (const { sinceMs } of truth.fillReads) expect(clock.wallMs() - sinceMs).toBeLessThan(30_000);
  });

  it("that the venue shows late are found by a second reading, and none follows it", async () => {
    await lose();
    await reconnect();
    const lostMs = clock.wallMs();
    truth.fills.push(fill("5", "11", 3, lostMs - 1_000));
    expect(fills()).toEqual([]);
    await wait(61_000);
    expect(fills()).toEqual(["BTCUSDT:11 5"]);
    const before = truth.movedReads;
    await wait(120_000);
    expect(truth.movedReads).toBe(before);
  });

  it("are found although the venue's clock is thought to be behind what it was before the gap", async () => {
    aheadMs = 60_000;
    await wait(61_000);
    aheadMs = 0;
    await lose();
    truth.fills.push(fill("5", "11", 3, clock.wallMs()));
    await wait(30_000);
    await reconnect();
    await wait(61_000);
    expect(fills()).toEqual(["BTCUSDT:11 5"]);
  });

  it("keep the stream from being LIVE until they were read", async () => {
    await lose();
    truth.fills.push(fill("5", "11", 3, clock.wallMs()));
    truth.fillFailure = failedRead("RATE_LIMITED", "later");
    await reconnect();
    await wait(5_000);
    expect([stream.state, stream.positions().ok, fills()]).toEqual(["SYNCING", false, []]);
    truth.fillFailure = null;
    await wait(15_000);
    expect([stream.state, fills()]).toEqual(["LIVE", ["BTCUSDT:11 5"]]);
  });

  it("come with the end of each order that vanished, however many did", async () => {
    const ids = Array.from({ length: 130 }, (_, index) => String(1_000 + index));
    truth.openOrders = ids.map((id) => order(id, "OPEN"));
    await lose();
    await reconnect();
    await wait(3_000);
    await lose();
    truth.openOrders = [];
    // The venue forgot one of them.
    for (const id of ids.slice(1)) truth.finishedOrders.set(id, order(id, "CANCELED"));
    events.length = 0;
    await reconnect();
    await wait(5_000);
    const ended = events.flatMap((event) =>
      event.kind === "order" && event.order.status === "CANCELED" ? [event.order.venueOrderId] : [],
    );
    expect([stream.state, ended.sort()]).toEqual(["LIVE", ids.slice(1)]);
  });

  it("come with the end of an order whose id another contract has for an open one", async () => {
    const elsewhere = { ...order("5", "OPEN"), nativeSymbol: "ETHUSDT" };
    truth.openOrders = [order("5", "OPEN"), elsewhere];
    await lose();
    await reconnect();
    await wait(3_000);
    await lose();
    truth.openOrders = [elsewhere];
    truth.finishedOrders.set("5", order("5", "CANCELED"));
    events.length = 0;
    await reconnect();
    await wait(5_000);
    const told = events.flatMap((event) =>
      event.kind === "order" ? [`${event.order.nativeSymbol} ${event.order.status}`] : [],
    );
    expect([stream.state, told]).toEqual(["LIVE", ["BTCUSDT CANCELED"]]);
  });

  it("do not keep an account back whose many orders ended with their contract", async () => {
    const ids = Array.from({ length: 60 }, (_, index) => String(2_000 + index));
    truth.openOrders = [...ids.map((id) => ({ ...order(id, "OPEN"), nativeSymbol: "ETHUSDT" })), order("5", "OPEN")];
    await lose();
    await reconnect();
    await wait(3_000);
    await lose();
    truth.openOrders = [];
    truth.finishedOrders.set("5", order("5", "CANCELED"));
    instruments.delete("ETHUSDT");
    events.length = 0;
    await reconnect();
    await wait(10_000);
    const told = events.flatMap((event) => (event.kind === "order" ? [event.order.venueOrderId] : []));
    expect([stream.state, told]).toEqual(["LIVE", ["5"]]);
  });

  it("of a contract that can never be read hold the account back for minutes, are logged and counted", async () => {
    await lose();
    truth.movedSymbols = ["BTCUSDT", "ETHUSDT"];
    truth.finishedOrders.set("6", { ...order("6", "FILLED", 10), nativeSymbol: "ETHUSDT" });
    const lostMs = clock.wallMs();
    truth.fills.push({ ...fill("6", "7", 10, lostMs), nativeSymbol: "ETHUSDT", symbol: "ETH", tradeId: "ETHUSDT:7" });
    truth.fills.push(fill("5", "11", 3, lostMs));
    const { readFills } = truth;
    truth.readFills = (of, query) =>
      query.instrument === BTC
        ? Promise.resolve(failedRead("BAD_RESPONSE", "a row that nobody can read"))
        : readFills.call(truth, of, query);
    await reconnect();
    await wait(60_000);
    expect([stream.state, logged]).toEqual(["SYNCING", []]);
    await wait(300_000);
    expect([stream.state, stream.positions().ok, fills()]).toEqual(["LIVE", true, ["ETHUSDT:7 6"]]);
    expect(new Set(logged)).toEqual(new Set(["BTC"]));
    expect(streams.stats().unreadFillCount).toBe(logged.length);
    // From then on one more try is enough.
    await lose();
    await reconnect();
    await wait(2_000);
    expect(stream.state).toBe("LIVE");
    // And what can be read again is read.
    truth.readFills = readFills;
    await lose();
    truth.fills.push(fill("5", "12", 3, clock.wallMs()));
    await reconnect();
    await wait(61_000);
    expect([stream.state, fills().includes("BTCUSDT:12 5")]).toEqual(["LIVE", true]);
  });

  it("are read of the contracts that are known where the list of moved ones can never be read", async () => {
    await lose();
    truth.fills.push(fill("5", "11", 3, clock.wallMs()));
    truth.readMovedSymbols = () => Promise.resolve(failedRead("BAD_RESPONSE", "a row that nobody can read"));
    await reconnect();
    await wait(60_000);
    expect(stream.state).toBe("SYNCING");
    await wait(300_000);
    expect([stream.state, fills()]).toEqual(["LIVE", ["BTCUSDT:11 5"]]);
    expect([logged.length > 0, streams.stats().unreadFillCount]).toEqual([true, logged.length]);
  });

  it("are reported once where a reading fails half-way, at the look-up of an order", async () => {
    await lose();
    truth.finishedOrders.set("8", order("8", "FILLED", 3));
    truth.fills.push(fill("8", "11", 3, clock.wallMs()), fill("9", "12", 3, clock.wallMs() + 1));
    const { readOrder } = truth;
    truth.readOrder = (of, instrument, ref) =>
      "venueOrderId" in ref && ref.venueOrderId === "9"
        ? Promise.resolve(failedRead("TIMEOUT", "late"))
        : readOrder.call(truth, of, instrument, ref);
    await reconnect();
    await wait(3_000);
    expect([stream.state, fills()]).toEqual(["SYNCING", []]);
    truth.readOrder = readOrder;
    truth.finishedOrders.set("9", order("9", "FILLED", 3));
    await wait(80_000);
    expect(fills()).toEqual(["BTCUSDT:11 8", "BTCUSDT:12 9"]);
  });

  it("are read page by page, up to a limit that keeps the newest", async () => {
    const lostMs = clock.wallMs();
    await lose();
    for (let id = 100; id < 2_600; id++) truth.fills.push(fill("5", String(id), 1, lostMs + id - 100));
    await wait(2_000);
    await reconnect();
    expect(stream.state).toBe("LIVE");
    expect([fills().length, fills()[0], fills().at(-1)]).toEqual([2_000, "BTCUSDT:600 5", "BTCUSDT:2599 5"]);
    expect(truth.fillReads.length).toBe(2);
    await wait(61_000);
    expect(fills().length).toBe(2_000);
  });

  it("of one contract are not cut for the many of another", async () => {
    const lostMs = clock.wallMs();
    await lose();
    for (let id = 100; id < 2_600; id++) truth.fills.push(fill("5", String(id), 1, lostMs + id - 100));
    truth.movedSymbols = ["BTCUSDT", "ETHUSDT"];
    truth.finishedOrders.set("6", { ...order("6", "FILLED", 10), nativeSymbol: "ETHUSDT" });
    truth.fills.push({ ...fill("6", "7", 10, lostMs), nativeSymbol: "ETHUSDT", symbol: "ETH", tradeId: "ETHUSDT:7" });
    await wait(2_000);
    await reconnect();
    await wait(61_000);
    expect(fills().filter((text) => text.startsWith("ETH"))).toEqual(["ETHUSDT:7 6"]);
    expect(fills().length).toBeGreaterThanOrEqual(1_001);
  });

  it("of short pages are read as far as a limit of pages", async () => {
    await lose();
    truth.pageRows = 2;
    for (let id = 100; id < 200; id++) truth.fills.push(fill("5", String(id), 1, clock.wallMs() + id - 100));
    await reconnect();
    expect([fills().length, fills().at(-1), truth.fillReads.length]).toEqual([16, "BTCUSDT:199 5", 8]);
  });
});

describe("fills that no event brought although the connection held", () => {
  it("are read where an event cannot be understood", async () => {
    truth.fills.push(fill("5", "11", 3, clock.wallMs()));
    network.last.receive('{"e":"ORDER_TRADE_UPDATE","E":1,"T":1,"o":{}}');
    expect(stream.state).toBe("SYNCING");
    await wait(1_000);
    expect([stream.state, fills()]).toEqual(["LIVE", ["BTCUSDT:11 5"]]);
  });

  it("come with the end of their order, which no event brought either", async () => {
    truth.positions = [position(3, clock.wallMs())];
    truth.openOrders = [];
    const { tsVenueMs } = fill("5", "11", 3, clock.wallMs());
    truth.fills.push(fill("5", "11", 3, tsVenueMs));
    truth.finishedOrders.set("5", { ...order("5", "FILLED", 3), tsVenueMs });
    await wait(61_000);
    expect(fills()).toEqual(["BTCUSDT:11 5"]);
    const told = events.flatMap((event) => (event.kind === "order" || event.kind === "fill" ? [event] : []));
    expect(told).toMatchObject([
      { kind: "order", order: { venueOrderId: "5", status: "FILLED", filledLots: 3 } },
      { kind: "fill", order: { status: "FILLED", filledLots: 3 } },
    ]);
  });

  it("are read from before the venue forgot the key of the stream, while it looked alive", async () => {
    await wait(120_000);
    // The venue says nothing more on this connection; the position is opened and closed again.
    truth.movedSymbols = ["BTCUSDT"];
    truth.finishedOrders.set("8", order("8", "FILLED", 3));
    truth.finishedOrders.set("9", order("9", "FILLED", 3));
    truth.fills.push(fill("8", "11", 3, clock.wallMs()), fill("9", "12", 3, clock.wallMs() + 10));
    await wait(120_000);
    expect([stream.state, fills()]).toEqual(["LIVE", []]);
    isKeyKnown = false;
    await wait(25 * 60_000);
    network.last.open();
    await wait(5_000);
    expect([stream.state, fills()]).toEqual(["LIVE", ["BTCUSDT:11 8", "BTCUSDT:12 9"]]);
  });

  it("are read from before another key was given for the next connection", async () => {
    await wait(120_000);
    truth.movedSymbols = ["BTCUSDT"];
    truth.finishedOrders.set("8", order("8", "FILLED", 3));
    truth.fills.push(fill("8", "11", 3, clock.wallMs()));
    await wait(120_000);
    key = "listen/2";
    await lose();
    await reconnect();
    expect([stream.state, fills()]).toEqual(["LIVE", ["BTCUSDT:11 8"]]);
  });

  it("are read again surely after the loss where it came while the venue was being asked", async () => {
    const { readPositions } = truth;
    let asked = 0;
    truth.readPositions = async () => {
      asked++;
      if (asked === 1) await delay(clock, 1_450);
      return readPositions.call(truth);
    };
    while (asked === 0) await clock.advanceAsync(50);
    await wait(1_400);
    network.last.receive('{"e":"ORDER_TRADE_UPDATE","E":1,"T":1,"o":{}}');
    const happenedMs = clock.wallMs();
    await wait(1_000);
    expect(asked).toBeGreaterThan(1);
    // The venue's reads show a fill a second after it happened.
    truth.fills.push(fill("5", "11", 3, happenedMs));
    await wait(120_000);
    expect([stream.state, fills()]).toEqual(["LIVE", ["BTCUSDT:11 5"]]);
  });

  it("are read where the venue shows another size than the events made", async () => {
    truth.positions = [position(3, clock.wallMs())];
    truth.fills.push(fill("5", "11", 3, clock.wallMs()));
    await wait(61_000);
    expect([stream.state, fills()]).toEqual(["LIVE", ["BTCUSDT:11 5"]]);
  });

  it("are read where sizes show them while a reading of a gap before goes on, past their contract", async () => {
    truth.movedSymbols = ["BTCUSDT", "ETHUSDT"];
    await lose();
    await reconnect();
    const { readFills } = truth;
    truth.readFills = (of, query) =>
      query.instrument === ETH
        ? Promise.resolve(failedRead("RATE_LIMITED", "later"))
        : readFills.call(truth, of, query);
    await wait(62_000);
    expect(stream.state).toBe("SYNCING");
    await wait(10_000);
    truth.positions = [position(3, clock.wallMs())];
    truth.fills.push(fill("5", "11", 3, clock.wallMs()));
    await wait(15_000);
    truth.readFills = readFills;
    await wait(125_000);
    expect([stream.state, fills()]).toEqual(["LIVE", ["BTCUSDT:11 5"]]);
    const before = truth.movedReads;
    await wait(125_000);
    expect(truth.movedReads).toBe(before);
  });

  /** A truth read has just passed; the venue's trades lag behind its sizes. */
  async function untilSizesAreRead(): Promise<void> {
    const before = truth.positionReads;
    while (truth.positionReads === before) await clock.advanceAsync(50);
  }

  it("are read where sizes are what they were at the read before, and an event moved them meanwhile", async () => {
    await lose();
    await reconnect();
    expect(stream.state).toBe("LIVE");
    network.last.receive(tradeUpdate("5", 10, "0.003", "0.003"));
    network.last.receive(accountUpdate("0.003", clock.wallMs()));
    truth.fills.push(fill("5", "10", 3, clock.wallMs()));
    await wait(30_000);
    // The event of its close is lost.
    await untilSizesAreRead();
    truth.fills.push(fill("5", "11", 3, clock.wallMs() - 100));
    await wait(125_000);
    expect([stream.state, fills()]).toEqual(["LIVE", ["BTCUSDT:10 5", "BTCUSDT:11 5"]]);
  });

  it("are read where both sides of a hedge grew by as much while fills are missing", async () => {
    await lose();
    await reconnect();
    truth.positions = [
      { ...position(3, clock.wallMs()), positionSide: "LONG" },
      { ...position(3, clock.wallMs()), positionSide: "SHORT", direction: "SHORT" },
    ];
    await untilSizesAreRead();
    truth.fills.push(fill("5", "11", 3, clock.wallMs() - 100), fill("5", "12", 3, clock.wallMs() - 100));
    await wait(125_000);
    expect([stream.state, fills()]).toEqual(["LIVE", ["BTCUSDT:12 5", "BTCUSDT:11 5"]]);
  });

  it("are not asked for where nothing was lost", async () => {
    truth.positions = [position(3, clock.wallMs())];
    network.last.receive(accountUpdate("0.003", clock.wallMs()));
    await wait(125_000);
    expect([truth.movedReads, truth.fillReads.length]).toEqual([0, 0]);
  });
});

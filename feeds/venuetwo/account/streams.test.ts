import { beforeEach, describe, expect, it } from "vitest";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import type { AccountEvent, AccountSession, AccountStream } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import { FakeNetwork } from "../../shared/test/fake-connector.js";
import type { VenuetwoAccountStreams } from "./streams.js";
import { LISTEN_KEY_REFRESH_MS, MAX_ACCOUNT_STREAMS, ROTATE_AFTER_MS } from "../rules/limits.js";
import { accountUpdate, order, position, session, streamsOf, Truth } from "../test/account-harness.js";

let clock: VirtualClock;
/** How far the venue's clock is known to be ahead. */
let aheadMs: number;
let network: FakeNetwork;
let truth: Truth;
let streams: VenuetwoAccountStreams;
let extendAnswers: ("extended" | "expired" | "failed")[];
let createCount: number;
let extendCount: number;

beforeEach(() => {
  clock = new VirtualClock();
  aheadMs = 0;
  network = new FakeNetwork();
  network.pong = "";
  truth = new Truth(clock);
  extendAnswers = [];
  createCount = 0;
  extendCount = 0;
  streams = streamsOf({
    clock,
    network,
    truth,
    aheadMs: () => aheadMs,
    listenKeys: {
      create() {
        createCount++;
        if (truth.failure?.code === "AUTH") return Promise.resolve(truth.failure);
        return Promise.resolve({ ok: true, value: `listen/${createCount}`, asOfMs: 1, source: "venue" });
      },
      extend() {
        extendCount++;
        const answer = extendAnswers.shift() ?? "extended";
        if (answer === "failed") return Promise.resolve(failedRead("TIMEOUT", "late"));
        return Promise.resolve({ ok: true, value: answer, asOfMs: 1, source: "venue" });
      },
    },
  });
});

function open(of: AccountSession, events: AccountEvent[] = []): AccountStream {
  const opened = streams.openAccountStream(of, (event) => events.push(event));
  if (!opened.ok) throw new Error(opened.problem);
  return opened.stream;
}

async function goLive(events: AccountEvent[] = []): Promise<AccountStream> {
  const stream = open(session("a"), events);
  await clock.advanceAsync(10);
  network.last.open();
  await clock.advanceAsync(10);
  expect(stream.state).toBe("LIVE");
  return stream;
}

function lots(stream: AccountStream): number[] | string {
  const read = stream.positions();
  return read.ok ? read.value.map(({ qtyLots }) => qtyLots) : read.code;
}

function orderUpdate(change: Record<string, unknown>, E: number): string {
  const o = {
    s: "BTCUSDT",
    c: "abc",
    S: "SELL",
    o: "LIMIT",
    f: "GTC",
    q: "0.010",
    p: "100.0",
    ap: "0",
    sp: "0",
    x: "NEW",
    X: "NEW",
    i: 77,
    l: "0",
    z: "0",
    L: "0",
    T: E,
    t: 0,
    b: "0",
    a: "0",
    m: false,
    R: true,
    wt: "CONTRACT_PRICE",
    ot: "LIMIT",
    ps: "BOTH",
    cp: false,
    rp: "0",
    ...change,
  };
  return JSON.stringify({ e: "ORDER_TRADE_UPDATE", E, T: E, o });
}

describe("going live", () => {
  it("connects with the listen key and is readable only after REST has answered", async () => {
    truth.positions = [position(500, 1)];
    const events: AccountEvent[] = [];
    const stream = open(session("a"), events);
    expect([stream.state, lots(stream)]).toEqual(["SYNCING", "VENUE_ERROR"]);
    await clock.advanceAsync(10);
    expect(network.last.url).toBe("ws://venue/ws/listen%2F1");
    expect(stream.state).toBe("SYNCING");
    network.last.open();
    await clock.advanceAsync(10);
    expect([stream.state, lots(stream)]).toEqual(["LIVE", [500]]);
    expect(events.map(({ kind }) => kind)).toEqual(["state", "positions"]);
  });

  it("is unreadable when a contract is listed on another scale, until REST has counted it again", async () => {
    truth.positions = [position(250, 5)];
    const stream = await goLive();
    expect(lots(stream)).toEqual([250]);
    // The venue prints one more decimal of sizes: what was counted before is a tenth of it now.
    truth.positions = [position(2_500, 6)];
    streams.rescaled();
    expect([stream.state, lots(stream)]).toEqual(["SYNCING", "VENUE_ERROR"]);
    await clock.advanceAsync(2_000);
    network.last.open();
    await clock.advanceAsync(10);
    expect([stream.state, lots(stream)]).toEqual(["LIVE", [2_500]]);
  });

  it("stays unreadable while REST fails: a failed read is not a flat account", async () => {
    truth.failure = failedRead("TIMEOUT", "late");
    const stream = open(session("a"));
    await clock.advanceAsync(10);
    network.last.open();
    await clock.advanceAsync(20_000);
    expect([stream.state, lots(stream)]).toEqual(["SYNCING", "VENUE_ERROR"]);
    truth.failure = null;
    await clock.advanceAsync(15_000);
    expect(stream.state).toBe("LIVE");
  });

  it("passes nothing on before a signed call has succeeded", async () => {
    truth.failure = failedRead("TIMEOUT", "late");
    const events: AccountEvent[] = [];
    open(session("a"), events);
    await clock.advanceAsync(10);
    network.last.open();
    network.last.receive(orderUpdate({}, clock.wallMs()));
    network.last.receive(accountUpdate("1.000", clock.wallMs()));
    await clock.advanceAsync(1_000);
    expect(events).toEqual([]);
    truth.failure = null;
    truth.openOrders = [order("77", "OPEN")];
    await clock.advanceAsync(15_000);
    expect(events.map(({ kind }) => kind)).toEqual(["state", "positions", "order"]);
  });

  it("ends, and says so, when the venue keeps refusing the credentials", async () => {
    truth.failure = failedRead("AUTH", "-2015");
    const events: AccountEvent[] = [];
    const stream = open(session("a"), events);
    await clock.advanceAsync(120_000);
    expect(stream.state).toBe("DOWN");
    expect(events).toEqual([{ kind: "state", state: "DOWN" }]);
    expect([createCount, streams.openCount]).toEqual([4, 0]);
  });
});

describe("events", () => {
  it("is not kept from the truth for ever by one event with a time in the future", async () => {
    truth.positions = [position(500, 1)];
    const stream = await goLive();
    truth.positions = [position(400, clock.wallMs())];
    network.last.receive(accountUpdate("0.400", clock.wallMs() + 86_400_000));
    await clock.advanceAsync(5_000);
    expect(lots(stream)).toEqual([400]);
    truth.positions = [position(900, clock.wallMs())];
    network.last.receive(accountUpdate("0.900", clock.wallMs()));
    await clock.advanceAsync(10_000);
    expect([stream.state, lots(stream)]).toEqual(["LIVE", [900]]);
  });

  it("moves positions by absolute rows and never backwards in event time", async () => {
    truth.positions = [position(500, 1)];
    const stream = await goLive();
    const nowMs = clock.wallMs();
    network.last.receive(accountUpdate("0.400", nowMs + 10));
    network.last.receive(accountUpdate("0.450", nowMs + 5));
    expect(lots(stream)).toEqual([400]);
    network.last.receive(accountUpdate("0", nowMs + 20));
    network.last.receive(accountUpdate("0.100", nowMs + 15));
    expect(lots(stream)).toEqual([]);
    network.last.receive(accountUpdate("-0.200", nowMs + 30));
    const read = stream.positions();
    expect(read.ok && read.value[0]).toMatchObject({
      direction: "SHORT",
      qtyLots: 200,
      leverage: 5,
      liquidationPrice: null,
    });
  });

  it("tells of orders and of each fill once, whatever comes twice or late", async () => {
    const events: AccountEvent[] = [];
    await goLive(events);
    events.length = 0;
    const nowMs = clock.wallMs();
    const fill = orderUpdate(
      {
        x: "TRADE",
        X: "PARTIALLY_FILLED",
        l: "0.004",
        z: "0.004",
        L: "100.0",
        ap: "100.0",
        N: "USDT",
        n: "0.01",
        t: 9,
      },
      nowMs + 2,
    );
    for (const text of [orderUpdate({}, nowMs + 1), fill, fill, orderUpdate({}, nowMs + 1)]) network.last.receive(text);
    expect(events.map((event) => (event.kind === "order" ? event.order.status : event.kind))).toEqual([
      "OPEN",
      "PARTIALLY_FILLED",
      "fill",
    ]);
    expect(events[2]).toMatchObject({
      qtyLots: 4,
      price: "100.0",
      fee: { amount: "0.01", asset: "USDT" },
      tradeId: "BTCUSDT:9",
    });
    // A fill that arrives after a later state of its order is still a fill, but changes no order.
    const filled = orderUpdate(
      { x: "TRADE", X: "FILLED", l: "0.003", z: "0.010", L: "100.1", ap: "100.0", t: 11 },
      nowMs + 4,
    );
    const between = orderUpdate(
      { x: "TRADE", X: "PARTIALLY_FILLED", l: "0.003", z: "0.007", L: "100.0", ap: "100.0", t: 10 },
      nowMs + 3,
    );
    events.length = 0;
    network.last.receive(filled);
    network.last.receive(between);
    expect(events.map((event) => (event.kind === "fill" ? event.tradeId : event.kind))).toEqual([
      "order",
      "BTCUSDT:11",
      "BTCUSDT:10",
    ]);
  });

  it("asks REST when an event cannot be read or does not fit, and is not LIVE in between if it lost something", async () => {
    truth.positions = [position(500, 1)];
    const stream = await goLive();
    const before = truth.positionReads;
    network.last.receive('{"e":"SOMETHING_NEW","E":1}');
    await clock.advanceAsync(10);
    expect([truth.positionReads, stream.state]).toEqual([before + 1, "LIVE"]);
    truth.positions = [position(300, 2)];
    network.last.receive(accountUpdate("0.1234567", clock.wallMs()));
    expect(stream.state).toBe("SYNCING");
    await clock.advanceAsync(10);
    expect([stream.state, lots(stream)]).toEqual(["LIVE", [300]]);
  });

  it("is not LIVE while an event that it knows the kind of cannot be read", async () => {
    const stream = await goLive();
    network.last.receive('{"e":"ACCOUNT_UPDATE","E":1,"T":1,"a":{}}');
    expect([stream.state, lots(stream)]).toEqual(["SYNCING", "VENUE_ERROR"]);
    await clock.advanceAsync(10);
    expect(stream.state).toBe("LIVE");
  });

  it("is LIVE only by an answer asked for after the last event that could not be read", async () => {
    truth.positions = [position(500, 1)];
    const stream = await goLive();
    network.last.receive(accountUpdate("0.1234567", clock.wallMs()));
    // The question is out; what this one said may be in its answer or not.
    network.last.receive(accountUpdate("0.7654321", clock.wallMs()));
    truth.positions = [position(300, 2)];
    await clock.advanceAsync(10);
    expect(stream.state).toBe("SYNCING");
    await clock.advanceAsync(1_000);
    expect([stream.state, lots(stream)]).toEqual(["LIVE", [300]]);
  });

  it("does not flood REST when events that cannot be read pour in", async () => {
    await goLive();
    const before = truth.positionReads;
    for (let index = 0; index < 1_000; index++) {
      network.last.receive("{");
      await Promise.resolve();
    }
    await clock.advanceAsync(1_000);
    expect(truth.positionReads - before).toBeLessThan(8);
  });

  it("shields subscribers from each other's bugs", async () => {
    const of = session("a");
    streams.openAccountStream(of, () => {
      throw new Error("bug");
    });
    const events: AccountEvent[] = [];
    open(of, events);
    await clock.advanceAsync(10);
    network.last.open();
    await clock.advanceAsync(10);
    expect(events.map(({ kind }) => kind)).toEqual(["state", "positions"]);
  });
});

describe("loss and recovery", () => {
  it("is not readable while disconnected, and adopts what happened meanwhile", async () => {
    truth.positions = [position(500, 1)];
    truth.openOrders = [order("5", "OPEN"), order("6", "OPEN")];
    const events: AccountEvent[] = [];
    const stream = await goLive(events);
    network.last.receive(accountUpdate("0.450", clock.wallMs()));
    network.last.end(1006);
    expect([stream.state, lots(stream)]).toEqual(["SYNCING", "VENUE_ERROR"]);
    truth.positions = [];
    truth.openOrders = [order("6", "OPEN")];
    truth.finishedOrders.set("5", order("5", "FILLED", 10));
    events.length = 0;
    await clock.advanceAsync(2_000);
    network.last.open();
    await clock.advanceAsync(10);
    expect([stream.state, lots(stream)]).toEqual(["LIVE", []]);
    expect(events.filter(({ kind }) => kind === "order")).toMatchObject([
      { order: { venueOrderId: "5", status: "FILLED", filledLots: 10 } },
    ]);
  });

  it("tells what it learnt of an order although a later part of that reading failed", async () => {
    truth.openOrders = [order("5", "OPEN")];
    const events: AccountEvent[] = [];
    await goLive(events);
    network.last.end(1006);
    events.length = 0;
    // New ones are listed; how the one that is gone ended cannot be read at first.
    truth.openOrders = [order("6", "OPEN"), order("7", "OPEN")];
    const { readOrder } = truth;
    truth.readOrder = () => Promise.resolve(failedRead("RATE_LIMITED", "later"));
    await clock.advanceAsync(2_000);
    network.last.open();
    await clock.advanceAsync(10);
    expect(events.filter(({ kind }) => kind === "order")).toEqual([]);
    // Meanwhile one of them fills: then it is no longer reported as open.
    const filled = { i: 7, x: "TRADE", X: "FILLED", l: "0.010", z: "0.010", L: "100.0", ap: "100.0", t: 8 };
    network.last.receive(orderUpdate(filled, clock.wallMs()));
    truth.openOrders = [order("6", "OPEN")];
    truth.readOrder = readOrder;
    truth.finishedOrders.set("5", order("5", "FILLED", 10));
    await clock.advanceAsync(5_000);
    const told = events.flatMap((event) => (event.kind === "order" ? [event.order] : []));
    expect(told.map(({ venueOrderId, status }) => `${venueOrderId} ${status}`)).toEqual([
      "7 FILLED",
      "6 OPEN",
      "5 FILLED",
    ]);
  });

  it("is not frozen by an event with a time in the future, and reads the truth after it", async () => {
    truth.positions = [position(500, 1)];
    const events: AccountEvent[] = [];
    const stream = await goLive(events);
    const dayMs = 86_400_000;
    network.last.receive(orderUpdate({}, clock.wallMs() + dayMs));
    network.last.receive(accountUpdate("0.400", clock.wallMs() + dayMs));
    expect(stream.state).not.toBe("LIVE");
    truth.positions = [position(400, 1)];
    await clock.advanceAsync(2_000);
    expect([stream.state, lots(stream)]).toEqual(["LIVE", [400]]);
    network.last.receive(accountUpdate("0.300", clock.wallMs()));
    expect(lots(stream)).toEqual([300]);
    events.length = 0;
    network.last.receive(orderUpdate({ x: "CANCELED", X: "CANCELED" }, clock.wallMs()));
    expect(events).toMatchObject([{ kind: "order", order: { status: "CANCELED" } }]);
  });

  it.each(["streamed", "read"])(
    "is not held back by an event with a time in the future from what happened just before it came, %s",
    async (way) => {
      truth.positions = [position(500, 1)];
      const stream = await goLive();
      const happenedMs = clock.wallMs();
      await clock.advanceAsync(20);
      truth.positions = [position(300, happenedMs)];
      network.last.receive(accountUpdate("0.400", clock.wallMs() + 86_400_000));
      if (way === "streamed") network.last.receive(accountUpdate("0.300", happenedMs));
      await clock.advanceAsync(10_000);
      expect([stream.state, lots(stream)]).toEqual(["LIVE", [300]]);
    },
  );

  it("is not held back by an order's state with a time in the future from its end just before it came", async () => {
    const events: AccountEvent[] = [];
    await goLive(events);
    network.last.receive(orderUpdate({}, clock.wallMs() + 86_400_000));
    events.length = 0;
    network.last.receive(orderUpdate({ x: "CANCELED", X: "CANCELED" }, clock.wallMs() - 10));
    expect(events).toMatchObject([{ kind: "order", order: { status: "CANCELED" } }]);
  });

  it("is not frozen by a clock that was a minute ahead, once that is known", async () => {
    truth.positions = [position(500, 1)];
    const events: AccountEvent[] = [];
    const stream = await goLive(events);
    aheadMs = 60_000;
    network.last.receive(orderUpdate({}, clock.wallMs() + aheadMs));
    network.last.receive(accountUpdate("0.400", clock.wallMs() + aheadMs));
    expect(lots(stream)).toEqual([400]);
    await clock.advanceAsync(1_000);
    aheadMs = 0;
    network.last.receive(accountUpdate("0.300", clock.wallMs()));
    expect(lots(stream)).toEqual([300]);
    events.length = 0;
    network.last.receive(orderUpdate({ x: "CANCELED", X: "CANCELED" }, clock.wallMs()));
    expect(events).toMatchObject([{ kind: "order", order: { status: "CANCELED" } }]);
  });

  it("keeps an event that is newer than the REST answer it races with", async () => {
    truth.positions = [position(500, 1)];
    const stream = open(session("a"));
    await clock.advanceAsync(10);
    network.last.open();
    // Arrives while the read is under way; the answer was made before it.
    network.last.receive(accountUpdate("0.400", clock.wallMs()));
    await clock.advanceAsync(10);
    expect(lots(stream)).toEqual([400]);
  });

  it("takes the venue's word over REST every minute, at the price of positions alone", async () => {
    truth.positions = [position(500, 1)];
    const stream = await goLive();
    const before = truth.openOrderReads;
    truth.positions = [];
    await clock.advanceAsync(40_000);
    // The answer to our ping.
    network.last.handlers.onControl();
    await clock.advanceAsync(21_000);
    expect([stream.state, lots(stream), truth.openOrderReads]).toEqual(["LIVE", [], before]);
  });
});

describe("listen key", () => {
  it("is prolonged every 25 minutes while the stream is open", async () => {
    await goLive();
    for (let minute = 0; minute < 76; minute++) {
      network.last.handlers.onControl();
      await clock.advanceAsync(30_000);
      network.last.handlers.onControl();
      await clock.advanceAsync(30_000);
    }
    expect([extendCount, createCount]).toEqual([3, 1]);
  });

  it.each([
    ["its expiry is announced", () => Promise.resolve(network.last.receive('{"e":"listenKeyExpired","E":1}'))],
    [
      "the venue knows it no more",
      async () => {
        extendAnswers = ["expired"];
        for (let step = 0; step < 50; step++) {
          network.last.handlers.onControl();
          await clock.advanceAsync(30_000);
        }
      },
    ],
  ])("is made again, with a new connection, when %s", async (_name, expire) => {
    const stream = await goLive();
    const first = network.last;
    await expire();
    await clock.advanceAsync(2_000);
    expect([first.isEnded, createCount, stream.state]).toEqual([true, 2, "SYNCING"]);
    expect(network.last.url).toBe("ws://venue/ws/listen%2F2");
    network.last.open();
    await clock.advanceAsync(10);
    expect(stream.state).toBe("LIVE");
  });

  it("is asked for again soon when prolonging fails", async () => {
    extendAnswers = ["failed", "failed"];
    await goLive();
    for (let step = 0; step < 55; step++) {
      network.last.handlers.onControl();
      await clock.advanceAsync(30_000);
    }
    expect(extendCount).toBe(3);
  });
});

describe("sharing", () => {
  it("shares one connection between equal credentials and keeps it while one is left", async () => {
    const first = await goLive();
    const second = open(session("a"));
    expect([network.connections.length, streams.openCount, second.state]).toEqual([1, 1, "LIVE"]);
    first.close();
    expect([first.state, second.state, lots(first)]).toEqual(["DOWN", "LIVE", "VENUE_ERROR"]);
    second.close();
    second.close();
    await clock.advanceAsync(5_000);
    expect([network.last.isEnded, streams.openCount, clock.pendingTimerCount]).toEqual([true, 0, 0]);
  });

  it("asks with a session that is open, where the first one was closed without its stream", async () => {
    const first = session("a");
    const stream = open(first);
    open(session("a"));
    first.close();
    await clock.advanceAsync(10);
    network.last.open();
    await clock.advanceAsync(10);
    expect([stream.state, createCount]).toEqual(["LIVE", 1]);
  });

  it("never shares with the same key and another secret", async () => {
    truth.positions = [position(500, 1)];
    const mine = session("a");
    open(mine);
    await clock.advanceAsync(10);
    network.last.open();
    await clock.advanceAsync(10);
    const other = session("a", "guess");
    const stranger = open(other);
    expect(other.accountId).toBe(mine.accountId);
    expect([lots(stranger), streams.positionsOf(other, null)]).toEqual(["VENUE_ERROR", null]);
    expect(streams.positionsOf(session("a"), null)?.value.length).toBe(1);
    expect([streams.ofSession(other)?.isLive, streams.ofSession(mine)?.isLive]).toEqual([false, true]);
  });

  it("refuses a closed session, and more accounts than its bound", () => {
    const closed = session("x");
    closed.close();
    expect(streams.openAccountStream(closed, () => {})).toMatchObject({ ok: false });
    for (let index = 0; index < MAX_ACCOUNT_STREAMS; index++) open(session(`n${index}`));
    expect(streams.openAccountStream(session("one-more"), () => {})).toEqual({
      ok: false,
      problem: "STREAM_LIMIT: all account streams of this venue are in use",
    });
    expect(streams.openAccountStream(session("n0"), () => {})).toMatchObject({ ok: true });
    streams.stop();
    expect(streams.openCount).toBe(0);
    // Nothing is opened that nobody would close.
    expect(streams.openAccountStream(session("n0"), () => {})).toMatchObject({ ok: false });
    expect(streams.openCount).toBe(0);
  });
});

describe("a listen key that is dead", () => {
  it("keeps no timer where the last listener closes as it learns of it", async () => {
    const left: AccountStream[] = [];
    const opened = streams.openAccountStream(session("a"), (event) => {
      if (event.kind === "state" && event.state === "SYNCING") for (const stream of left) stream.close();
    });
    if (!opened.ok) throw new Error(opened.problem);
    left.push(opened.stream);
    await clock.advanceAsync(10);
    network.last.open();
    await clock.advanceAsync(10);
    expect(opened.stream.state).toBe("LIVE");
    extendAnswers = ["expired"];
    // With the grace of the connection that is closed.
    await clock.advanceAsync(LISTEN_KEY_REFRESH_MS + 60_000);
    expect([streams.openCount, extendCount, clock.pendingTimerCount]).toEqual([0, 1, 0]);
  });

  it("is not believed on the connection that was to take over, whichever says first that it is dead", async () => {
    const stream = await goLive();
    const first = network.last;
    for (let waitedMs = 0; network.connections.length === 1 && waitedMs < ROTATE_AFTER_MS; waitedMs += 30_000)
      await clock.advanceAsync(30_000);
    expect([network.connections.length, first.isEnded, stream.state]).toEqual([2, false, "LIVE"]);
    const standby = network.last;
    standby.open();
    await clock.advanceAsync(10);
    standby.receive(JSON.stringify({ e: "listenKeyExpired", E: clock.wallMs() }));
    await clock.advanceAsync(5_000);
    // Nothing comes over it any more.
    expect([standby.isEnded, stream.state, network.connections.length]).toEqual([true, "SYNCING", 3]);
  });
});

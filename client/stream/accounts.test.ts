/** Positions and orders of a wallet: what frames fold into, and what a new connection sends again. */
import { describe, expect, it } from "vitest";
import { resumeSchema, subscribeOrdersSchema, subscribePositionsSchema } from "../../schemas/stream.js";
import { compileValidator } from "../../schemas/validate.js";
import { setUp } from "../test/scenario.js";
import { createVirtualTime, FakeSocket } from "../test/virtual.js";
import { StreamClient, type SubscriptionView } from "./stream-client.js";
import { foldSnapshot, foldUpdate, type OrdersData, type PositionsData } from "./topics.js";

const WALLET = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266";
const COVERAGE = { venueone: { state: "LIVE", mode: "push", asOf: 5, source: "stream" } };

function position(symbol: string, size: string, direction = "LONG") {
  return { exchange: "venueone", symbol, direction, size, entryPrice: "1" };
}

function order(orderId: string, status: string, filledQuantity = "0") {
  return { exchange: "venueone", symbol: "BTC", orderId, status, filledQuantity };
}

function positionsAfter(...updates: Record<string, unknown>[]): PositionsData {
  const first = foldSnapshot(
    "positions",
    { positions: [position("BTC", "1"), position("ETH", "2")], coverage: COVERAGE },
    0,
  );
  let fold = first;
  for (const update of updates) {
    if (!fold.ok) throw new Error(fold.problem);
    fold = foldUpdate(fold.data, update, 0);
  }
  if (!fold.ok) throw new Error(fold.problem);
  return fold.data as PositionsData;
}

describe("the fold of a positions subscription", () => {
  it("replaces whole positions, removes at size 0, and replaces coverage by venue", () => {
    const data = positionsAfter(
      { events: ["changed", "opened"], positions: [position("BTC", "0.5"), position("BTC", "3", "SHORT")] },
      {
        events: ["closed"],
        positions: [position("ETH", "0")],
        coverage: { venuetwo: { state: "ERROR", mode: "poll", asOf: null, error: { code: "TIMEOUT", message: "x" } } },
      },
    );
    expect([...data.positions].map(([key, { size }]) => [key, size])).toEqual([
      ["venueone|BTC|LONG", "0.5"],
      ["venueone|BTC|SHORT", "3"],
    ]);
    expect(data.events).toMatchObject([{ event: "closed", position: { symbol: "ETH" } }]);
    expect([...data.coverage]).toEqual([
      ["venueone", { state: "LIVE", mode: "push", asOf: 5, errorCode: null }],
      ["venuetwo", { state: "ERROR", mode: "poll", asOf: null, errorCode: "TIMEOUT" }],
    ]);
  });

  it.each([
    [{ events: [], positions: [position("BTC", "1")] }],
    [{ events: ["changed"], positions: [{ exchange: "venueone", symbol: 7, direction: "LONG", size: "1" }] }],
    [{ events: ["changed"], positions: [position("BTC", "many")] }],
    [{ events: ["changed"], positions: "none" }],
    [{ events: [], positions: [], coverage: { venueone: { state: 5 } } }],
  ])("refuses %j", (update) => {
    expect(() => positionsAfter(update)).toThrow("malformed");
  });
});

describe("the fold of an orders subscription", () => {
  it("sets orders while they are open and removes them when they end; a fill of an unknown order changes none", () => {
    let fold = foldSnapshot("orders", { orders: [order("1", "OPEN")], coverage: COVERAGE }, 0);
    for (const update of [
      { event: "fill", order: order("1", "PARTIALLY_FILLED", "1"), fill: {} },
      { event: "fill", order: order("1", "UNKNOWN", "2"), fill: {} },
      { event: "order", order: order("2", "OPEN") },
      { event: "order", order: order("2", "UNKNOWN") },
      { event: "execution.resolved", routeId: "rt_1", order: null },
    ]) {
      if (!fold.ok) throw new Error(fold.problem);
      fold = foldUpdate(fold.data, update, 0);
    }
    if (!fold.ok) throw new Error(fold.problem);
    const data = fold.data as OrdersData;
    expect([...data.orders.values()]).toEqual([order("1", "PARTIALLY_FILLED", "1")]);
    expect(data.event).toEqual({ event: "execution.resolved", routeId: "rt_1", order: null });
    expect(foldUpdate(data, { event: "order", order: { orderId: 5 } }, 0)).toEqual({ ok: false, problem: "malformed" });
  });
});

describe("the client of an account subscription", () => {
  it("subscribes with credentials, resumes with them on the next connection, and receives what was missed", () => {
    const time = createVirtualTime();
    const sockets: FakeSocket[] = [];
    const client = new StreamClient({
      url: "ws://test/ws",
      clock: time,
      random: () => 0,
      openSocket: (_, events) => {
        const socket = new FakeSocket(events);
        sockets.push(socket);
        return socket;
      },
    });
    const views: SubscriptionView[] = [];
    const credentials = { venueone: { privateKey: "0xkey" } };
    const params = { walletAddress: WALLET, exchanges: ["venueone" as const], credentials };
    client.subscribe({ topic: "orders", ...params }, { changed: (view) => void views.push(view) });
    client.subscribe({ topic: "positions", ...params, credentials: {} }, { changed: () => {} });
    client.start();
    const first = sockets[0] as FakeSocket;
    first.opened();
    const [orders, positions] = first.take();
    expect(compileValidator(subscribeOrdersSchema)(orders)).toMatchObject({ ok: true });
    expect(compileValidator(subscribePositionsSchema)(positions)).toMatchObject({ ok: true });
    expect(orders).toMatchObject({ topic: "orders", ...params });
    const sub = `orders:${WALLET}#00`;
    first.says({ type: "subscribed", id: orders?.id, subs: [{ sub, epoch: "e", seq: 0 }] });
    first.says({ type: "snapshot", sub, epoch: "e", seq: 1, ts: 1, data: { orders: [], coverage: COVERAGE } });
    first.says({ type: "resync", sub, epoch: "e", ts: 1, reason: "OVERFLOW" });
    expect(client.counts.undecodable).toBe(0);
    first.cut();
    time.advance(2_000);

    const second = sockets[1] as FakeSocket;
    second.opened();
    const resume = second.take().find((op) => op.op === "resume");
    expect(compileValidator(resumeSchema)(resume)).toMatchObject({ ok: true });
    expect(resume?.subs).toEqual([{ sub, epoch: "e", seq: 1, exchanges: ["venueone"], credentials }]);
    second.says({ type: "resumed", id: resume?.id, subs: [{ sub, epoch: "e", seq: 1, missed: false }] });
    second.says({
      type: "update",
      sub,
      epoch: "e",
      seq: 2,
      prevSeq: 1,
      ts: 2,
      data: { event: "order", order: order("9", "OPEN") },
    });
    const view = views.at(-1) as SubscriptionView;
    expect([view.current, view.seq, (view.data as OrdersData).orders.size]).toEqual([true, 2, 1]);
  });

  const privateSub = `positions:${WALLET}#00`;

  function waiting() {
    const set = setUp();
    set.client.subscribe({ topic: "positions", walletAddress: WALLET, credentials: {} }, set.listener);
    set.client.start();
    set.socket().opened();
    const [op] = set.socket().take();
    set.socket().says({ type: "subscribed", id: op?.id, subs: [{ sub: privateSub, epoch: "e", seq: 0 }] });
    return set;
  }

  const beat = (socket: FakeSocket, heads: Record<string, number>) =>
    socket.says({ type: "heartbeat", ts: 1, n: 1, heads, feeds: {} });

  it("waits for the first snapshot longer than the server waits for its venues", () => {
    const { socket, time } = waiting();
    time.advance(7_000);
    expect(socket().take()).toEqual([]);
    beat(socket(), {});
    time.advance(11_000);
    expect(
      socket()
        .take()
        .map(({ op }) => op),
    ).toEqual(["unsubscribe", "subscribe"]);
  });

  it("waits while the server reports that the key waits there, and recovers when it does not", () => {
    const { socket, time, sockets, last } = waiting();
    for (let second = 0; second < 60; second += 5) {
      time.advance(5_000);
      beat(socket(), { [privateSub]: 0 });
    }
    expect([socket().take(), sockets.length]).toEqual([[], 1]);
    const data = { positions: [position("BTC", "1")], coverage: COVERAGE };
    socket().says({ type: "snapshot", sub: privateSub, epoch: "e", seq: 1, ts: 1, data });
    expect(last()).toMatchObject({ current: true, seq: 1 });
    // A new snapshot of a known key waits there: nothing is requested, and nothing is current until it arrives.
    beat(socket(), { [privateSub]: 0 });
    expect(last()).toMatchObject({ current: false, staleReason: "waiting" });
    expect(socket().take()).toEqual([]);
    socket().says({ type: "snapshot", sub: privateSub, epoch: "e", seq: 4, ts: 1, data });
    expect(last()).toMatchObject({ current: true, seq: 4 });
  });
});

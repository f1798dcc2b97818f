/** The account stream over fake connections, a scripted REST and a virtual clock. */
import { describe, expect, it } from "vitest";
import type { AccountEvent, AccountSession, AccountStream } from "../../../engine/ports.js";
import type { FakeConnection } from "../../shared/test/fake-connector.js";
import {
  BTC,
  CLOSE_LONG,
  createHarness,
  CREDENTIALS,
  envelope,
  eventRow,
  FILLED_EVENTS,
  type Harness,
  OPTIONS,
  orderRow,
  WALLET,
} from "../test/trading-harness.js";

const CHANNELS = ["account_positions", "account_order_updates", "account_trades", "account_leverage", "account_margin"];
const POSITION = { s: "BTC", d: "bid", a: "0.0002", p: "63441", m: "0", f: "0", i: false, l: null, t: 1 };
const UPDATE = {
  I: null,
  a: "0.0002",
  ct: 1,
  d: "bid",
  f: "0.0002",
  i: 7,
  ip: "63500",
  li: 12,
  lp: "63441",
  oe: "fulfill_limit",
  os: "filled",
  ot: "limit",
  p: "63441",
  r: false,
  s: "BTC",
  si: null,
  sp: null,
  tp: null,
  u: "x",
  ut: 2,
};
const TRADE = {
  h: 91,
  i: 7,
  I: null,
  u: "x",
  s: "BTC",
  p: "63441",
  o: "63441",
  a: "0.0002",
  te: "fulfill_taker",
  ts: "open_long",
  tc: "normal",
  f: "0.005",
  n: "-0.005",
  t: 2,
  li: 12,
};
const REST_POSITION = {
  symbol: "BTC",
  side: "bid",
  amount: "0.0002",
  entry_price: "63441",
  margin: "0",
  funding: "0",
  isolated: false,
  liquidation_price: null,
  created_at: 1,
  updated_at: 1,
};
const REST_TRADE = {
  history_id: 92,
  order_id: 8,
  client_order_id: null,
  symbol: "BTC",
  amount: "0.0002",
  price: "64000",
  entry_price: "63441",
  fee: "0.005",
  pnl: "0.1",
  event_type: "fulfill_taker",
  side: "close_long",
  created_at: 1_790_000_000_500,
  cause: "normal",
};

interface Watching {
  readonly harness: Harness;
  readonly session: AccountSession;
  readonly stream: AccountStream;
  readonly events: AccountEvent[];
  kinds(): readonly string[];
}

/** Answers by path; `routes` may be changed while it runs. */
function answer(harness: Harness, routes: Record<string, unknown>, count: number): void {
  for (let index = 0; index < count; index++) {
    harness.http.step((request) => {
      const path = request.path.slice("/api/v1".length).split("?")[0] ?? "";
      const body = routes[path];
      return body === undefined ? harness.http.response(503, "") : harness.http.response(200, body);
    });
  }
}

const QUIET: Record<string, unknown> = {
  "/account/settings": envelope([]),
  "/positions": envelope([], { last_order_id: 5 }),
  "/orders": envelope([]),
};

function listen(harness: Harness, session = harness.open()): Watching {
  const events: AccountEvent[] = [];
  const result = harness.trading.streams.openAccountStream(session, (event) => events.push(event));
  if (!result.ok) throw new Error(result.problem);
  return {
    harness,
    session,
    stream: result.stream,
    events,
    kinds: () => events.map((event) => (event.kind === "state" ? event.state : event.kind)),
  };
}

/** Opens the newest connection and echoes what it asks for. */
async function connect(harness: Harness, channels = CHANNELS): Promise<FakeConnection> {
  const connection = harness.network.last;
  connection.open();
  await harness.clock.advanceAsync(500);
  for (const source of channels)
    send(connection, { channel: "subscribe", data: { source, account: WALLET.publicKey } });
  await harness.clock.advanceAsync(10);
  return connection;
}

function send(connection: FakeConnection, frame: object): void {
  connection.receive(JSON.stringify(frame));
}

/** The connection itself is well for so long. */
async function pong(harness: Harness, ms: number): Promise<void> {
  for (let passedMs = 0; passedMs < ms; passedMs += 1_000) {
    harness.network.last.receive('{"channel":"pong"}');
    await harness.clock.advanceAsync(1_000);
  }
}

async function live(
  routes: Record<string, unknown> = QUIET,
  offsetMs = 0,
): Promise<Watching & { readonly connection: FakeConnection }> {
  const harness = createHarness();
  harness.offsetMs = offsetMs;
  answer(harness, routes, 1_000);
  const watching = listen(harness);
  const connection = await connect(harness);
  expect(watching.stream.state).toBe("LIVE");
  return { ...watching, connection };
}

describe("an account stream", () => {
  it("asks for its channels, and is LIVE only after every echo and a reading of the account", async () => {
    const harness = createHarness();
    answer(harness, QUIET, 3);
    const watching = listen(harness);
    const connection = await connect(harness, CHANNELS.slice(0, 2));
    expect(connection.sent.map((text) => (JSON.parse(text) as { params: { source: string } }).params.source)).toEqual(
      CHANNELS,
    );
    expect(watching.stream.state).toBe("SYNCING");
    expect(watching.stream.positions()).toMatchObject({ ok: false });
    expect(harness.http.requests).toEqual([]);
    send(connection, { channel: "subscribe", data: { source: "account_trades", account: WALLET.publicKey } });
    await harness.clock.advanceAsync(10);
    expect(watching.kinds()).toEqual(["LIVE", "positions"]);
    expect(watching.stream.positions()).toMatchObject({ ok: true, value: [], source: "stream" });
  });

  it("asks for no read before its channels are answered, whatever comes", async () => {
    const harness = createHarness();
    answer(harness, QUIET, 3);
    const watching = listen(harness);
    const connection = await connect(harness, []);
    send(connection, { channel: "account_leverage", data: [] });
    send(connection, { channel: "account_trades", data: [TRADE] });
    await harness.clock.advanceAsync(2_500);
    expect([watching.stream.state, harness.http.requests.length]).toEqual(["SYNCING", 0]);
  });

  it("ends, and says so, when the venue keeps refusing the credentials", async () => {
    const harness = createHarness();
    for (let count = 0; count < 40; count++)
      harness.http.step(() =>
        harness.http.response(403, { success: false, data: null, error: "Unauthorized", code: 403 }),
      );
    const watching = listen(harness);
    await connect(harness);
    for (let second = 0; second < 20; second++) await harness.clock.advanceAsync(1_000);
    expect([watching.stream.state, watching.kinds()]).toEqual(["DOWN", ["DOWN"]]);
    const asked = harness.http.requests.length;
    await harness.clock.advanceAsync(600_000);
    expect([harness.http.requests.length, harness.trading.streams.openCount]).toEqual([asked, 0]);
  });

  it("asks again for what was not answered, and connects again when nothing helps", async () => {
    const harness = createHarness();
    answer(harness, QUIET, 10);
    const watching = listen(harness);
    const connection = await connect(harness, []);
    const asked = connection.sent.length;
    await harness.clock.advanceAsync(3_500);
    expect(connection.sent.length).toBeGreaterThan(asked);
    await harness.clock.advanceAsync(12_000);
    expect(connection.isTerminated).toBe(true);
    expect(harness.network.connections.length).toBeGreaterThan(1);
    await connect(harness);
    expect(watching.stream.state).toBe("LIVE");
  });

  it("reports orders, fills and positions; a fill waits for its order, and comes once", async () => {
    const { connection, kinds, stream, events } = await live();
    send(connection, { channel: "account_trades", data: [TRADE] });
    send(connection, { channel: "account_order_updates", data: [UPDATE] });
    send(connection, { channel: "account_trades", data: [TRADE] });
    send(connection, { channel: "account_positions", data: [POSITION], li: 12 });
    expect(kinds()).toEqual(["LIVE", "positions", "order", "fill", "positions"]);
    expect(events.find((event) => event.kind === "fill")).toMatchObject({
      tradeId: "91",
      qtyLots: 20,
      price: "63441",
      order: { status: "FILLED" },
    });
    expect(stream.positions()).toMatchObject({ value: [{ direction: "LONG", qtyLots: 20, leverage: 50 }] });
    send(connection, { channel: "account_positions", data: [], li: 11 });
    expect(stream.positions()).toMatchObject({ value: [{ qtyLots: 20 }] });
  });

  it("looks an order up whose fill came and whose update did not", async () => {
    const routes: Record<string, unknown> = { ...QUIET };
    const { connection, kinds, harness, events } = await live(routes);
    send(connection, { channel: "account_trades", data: [TRADE] });
    expect(kinds()).not.toContain("fill");
    routes["/orders/history_by_id"] = envelope(FILLED_EVENTS.map((event) => ({ ...event, order_id: 7, side: "bid" })));
    await harness.clock.advanceAsync(2_100);
    expect(kinds()).toContain("fill");
    expect(events.find((event) => event.kind === "order")).toMatchObject({
      order: { venueOrderId: "7", status: "FILLED" },
    });
  });

  it("reports the end of an order that vanished beside many of a contract that left the list", async () => {
    const open = (changes: object): object => ({
      ...orderRow({ client_order_id: null, ...changes }),
      ...{ price: "64000", initial_amount: "100", cancelled_amount: "0" },
    });
    const gone = Array.from({ length: 40 }, (_, index) => open({ order_id: 100 + index, symbol: "kPEPE" }));
    const last = { order_id: 700, client_order_id: null };
    const routes: Record<string, unknown> = { ...QUIET, "/orders": envelope([...gone, open(last)]) };
    const { connection, harness, events } = await live(routes);
    harness.instruments.delete("PEPE");
    routes["/orders"] = envelope([]);
    routes["/orders/history_by_id"] = envelope([
      eventRow({ ...last, history_id: 2, event_type: "cancel", order_status: "cancelled", cancelled_amount: "0.0002" }),
      eventRow(last),
    ]);
    events.length = 0;
    for (let times = 0; times < 3; times++) {
      send(connection, { channel: "account_positions", data: [{ ...POSITION, a: "x" }], li: 13 + times });
      await harness.clock.advanceAsync(1_000);
    }
    const told = events.flatMap((event) => (event.kind === "order" ? [event.order] : []));
    expect(told).toMatchObject([{ venueOrderId: "700", status: "CANCELED" }]);
  });

  it("is not LIVE while a frame went unread, until REST has answered", async () => {
    const { connection, kinds, harness, stream } = await live();
    send(connection, { channel: "account_positions", data: [{ ...POSITION, a: "x" }], li: 13 });
    expect(stream.state).toBe("SYNCING");
    await harness.clock.advanceAsync(10);
    expect(kinds()).toEqual(["LIVE", "positions", "SYNCING", "LIVE", "positions"]);
    connection.receive('{"channel":"account_tra');
    expect(stream.state).toBe("SYNCING");
  });

  it("is LIVE only by an answer asked for after the last frame that went unread", async () => {
    const { connection, harness, stream } = await live();
    send(connection, { channel: "account_positions", data: [{ ...POSITION, a: "x" }], li: 13 });
    // The question is out; the content of this one may be in its answer or not.
    send(connection, { channel: "account_positions", data: [{ ...POSITION, a: "y" }], li: 14 });
    await harness.clock.advanceAsync(10);
    expect(stream.state).toBe("SYNCING");
    await harness.clock.advanceAsync(2_000);
    expect(stream.state).toBe("LIVE");
  });

  it("reports what it learnt of an order although a later part of that reading failed", async () => {
    const open = (orderId: number) => ({
      ...orderRow({ order_id: orderId, side: "ask" }),
      price: "64000",
      initial_amount: "0.0002",
      cancelled_amount: "0",
    });
    const routes: Record<string, unknown> = { ...QUIET };
    const { connection, harness, events, stream } = await live(routes);
    connection.end(1006);
    // New ones are listed; the fills that were missed cannot be read at first.
    routes["/orders"] = envelope([open(8), open(7)]);
    const before = events.length;
    await harness.clock.advanceAsync(3_500);
    const next = await connect(harness);
    expect([stream.state, events.slice(before).filter(({ kind }) => kind === "order")]).toEqual(["SYNCING", []]);
    // Meanwhile one of them fills: then it is no longer reported as open.
    send(next, { channel: "account_order_updates", data: [{ ...UPDATE, d: "ask" }] });
    routes["/orders"] = envelope([open(8)]);
    routes["/trades/history"] = envelope([]);
    await harness.clock.advanceAsync(5_000);
    expect(stream.state).toBe("LIVE");
    const reported = events.slice(before).flatMap((event) => (event.kind === "order" ? [event.order] : []));
    expect(reported.map(({ venueOrderId, status }) => `${venueOrderId} ${status}`)).toEqual(["7 FILLED", "8 OPEN"]);
  });

  it("reports a fill that it missed with its order as it is by then", async () => {
    const open = {
      ...orderRow({ order_id: 8, side: "ask" }),
      price: "64000",
      initial_amount: "0.0002",
      cancelled_amount: "0",
    };
    const routes: Record<string, unknown> = { ...QUIET, "/orders": envelope([open]) };
    const { connection, harness, events } = await live(routes);
    connection.end(1006);
    const before = events.length;
    routes["/trades/history"] = envelope([REST_TRADE, { ...REST_TRADE, history_id: 93, order_id: 9 }]);
    // While the order of the other fill is looked up, the frame comes that ends this one's.
    Object.defineProperty(routes, "/orders/history_by_id", {
      get: () => {
        send(harness.network.last, { channel: "account_order_updates", data: [{ ...UPDATE, i: 8, d: "ask" }] });
        return envelope(FILLED_EVENTS.map((event) => ({ ...event, order_id: 9 })));
      },
    });
    await harness.clock.advanceAsync(3_500);
    await connect(harness);
    const reported = events
      .slice(before)
      .flatMap((event) => (event.kind === "order" || event.kind === "fill" ? [event] : []));
    expect(reported.map(({ kind, order }) => `${kind} ${order.venueOrderId} ${order.status}`)).toEqual([
      "order 8 FILLED",
      "fill 8 FILLED",
      "order 9 FILLED",
      "fill 9 FILLED",
    ]);
  });

  it("after a loss reports the orders that ended and the fills that were missed, and then is LIVE", async () => {
    const open = {
      ...orderRow({ order_id: 8, side: "ask" }),
      price: "64000",
      initial_amount: "0.0002",
      cancelled_amount: "0",
    };
    const routes: Record<string, unknown> = {
      ...QUIET,
      "/orders": envelope([open], { last_order_id: 6 }),
      "/positions": envelope([REST_POSITION], { last_order_id: 6 }),
    };
    const { connection, harness, stream, events } = await live(routes, 26.5);
    expect(events.at(-1)).toMatchObject({ kind: "order", order: { venueOrderId: "8", status: "OPEN" } });
    connection.end(1006);
    expect(stream.state).toBe("SYNCING");
    expect(stream.positions()).toMatchObject({ ok: false });
    routes["/orders"] = envelope([]);
    routes["/positions"] = envelope([], { last_order_id: 9 });
    routes["/trades/history"] = envelope([REST_TRADE]);
    routes["/orders/history_by_id"] = envelope(FILLED_EVENTS.map((event) => ({ ...event, order_id: 8 })));
    const before = events.length;
    await harness.clock.advanceAsync(3_500);
    const next = await connect(harness);
    const reported = events.slice(before).map((event) => (event.kind === "state" ? event.state : event.kind));
    expect(reported).toEqual(["LIVE", "positions", "order", "fill"]);
    expect(events.at(-1)).toMatchObject({ tradeId: "92", price: "64000" });
    // An estimate with fractions gives whole milliseconds to ask with.
    const asked = harness.http.requests.find((request) => request.path.includes("/trades/history"))?.path;
    expect(asked).toMatch(/start_time=\d+(?:&|$)/);
    // The frame comes late, from the new connection: it was reported.
    send(next, { channel: "account_trades", data: [{ ...TRADE, h: 92, i: 8, ts: "close_long" }] });
    expect(events).toHaveLength(before + reported.length);
  });

  it.each([
    ["cannot be read", { channel: "account_trades", data: [TRADE, { ...TRADE, h: 93, f: 5 }] }],
    ["does not fit its contract", { channel: "account_trades", data: [{ ...TRADE, h: 93, a: "0.000000001" }, TRADE] }],
  ])("reports the fills of a frame that %s, though the venue's list of them lags", async (_, frame) => {
    const order = orderRow({ order_id: 7, filled_amount: "0.0002" });
    const routes: Record<string, unknown> = {
      ...QUIET,
      "/orders": envelope([{ ...order, price: "64000", initial_amount: "0.0004", cancelled_amount: "0" }]),
      "/trades/history": envelope([]),
    };
    const { connection, harness, stream, events } = await live(routes);
    send(connection, frame);
    expect(stream.state).toBe("SYNCING");
    await pong(harness, 1_000);
    routes["/trades/history"] = envelope([{ ...REST_TRADE, history_id: 91, order_id: 7, side: "open_long" }]);
    await pong(harness, 90_000);
    const told = events.flatMap((event) => (event.kind === "fill" ? [event.tradeId] : []));
    expect([stream.state, told]).toEqual(["LIVE", ["91"]]);
  });

  it("reports the fills of a loss that comes while those of the one before are read", async () => {
    const order = orderRow({ order_id: 7, filled_amount: "0.0002" });
    const routes: Record<string, unknown> = {
      ...QUIET,
      "/orders": envelope([{ ...order, price: "64000", initial_amount: "0.0004", cancelled_amount: "0" }]),
    };
    const { connection, harness, stream, events } = await live(routes);
    connection.end(1006);
    await harness.clock.advanceAsync(3_500);
    let isLostAgain = false;
    Object.defineProperty(routes, "/trades/history", {
      configurable: true,
      get: () => {
        if (!isLostAgain) harness.network.last.end(1006);
        isLostAgain = true;
        return envelope([]);
      },
    });
    await connect(harness);
    expect(isLostAgain).toBe(true);
    const missed = { ...REST_TRADE, history_id: 91, order_id: 7, side: "open_long" };
    Object.defineProperty(routes, "/trades/history", { value: envelope([missed]) });
    await harness.clock.advanceAsync(3_500);
    await connect(harness);
    await pong(harness, 10_000);
    const told = events.flatMap((event) => (event.kind === "fill" ? [event.tradeId] : []));
    expect([stream.state, told]).toEqual(["LIVE", ["91"]]);
  });

  it("is held back for minutes by fills that can never be read, and then LIVE without them", async () => {
    const routes: Record<string, unknown> = { ...QUIET, "/trades/history": envelope([{ history_id: "x" }]) };
    const { connection, harness, stream } = await live(routes);
    send(connection, { channel: "account_trades", data: [{ ...TRADE, f: 5 }] });
    await pong(harness, 20_000);
    expect(stream.state).toBe("SYNCING");
    await pong(harness, 400_000);
    expect([stream.state, stream.positions().ok]).toEqual(["LIVE", true]);
    const said = harness.logLines.filter((line) => line.includes("fills-unread"));
    expect([said.length, harness.trading.streams.stats().unreadFillCount]).toEqual([1, 1]);
  });

  it("keeps trying while REST fails, and says so", async () => {
    const routes: Record<string, unknown> = { ...QUIET };
    delete routes["/orders"];
    const harness = createHarness();
    answer(harness, routes, 200);
    const watching = listen(harness);
    await connect(harness);
    const connection = harness.network.last;
    const pass = async (seconds: number): Promise<void> => {
      for (let passed = 0; passed < seconds; passed += 5) {
        // The connection itself is well.
        connection.receive('{"channel":"pong"}');
        await harness.clock.advanceAsync(5_000);
      }
    };
    await pass(60);
    expect(watching.stream.state).toBe("SYNCING");
    expect(harness.logLines.join()).toContain("reconcile-failing");
    routes["/orders"] = envelope([]);
    await pass(20);
    expect(watching.stream.state).toBe("LIVE");
  });

  it("asks the venue from time to time whether it is right, and follows it", async () => {
    const routes: Record<string, unknown> = { ...QUIET };
    const { connection, harness, stream } = await live(routes);
    routes["/positions"] = envelope([REST_POSITION], { last_order_id: 50 });
    for (let seconds = 0; seconds < 310; seconds += 10) {
      connection.receive('{"channel":"pong"}');
      await harness.clock.advanceAsync(10_000);
    }
    expect(stream.positions()).toMatchObject({ value: [{ qtyLots: 20 }] });
    expect(harness.logLines.join()).toContain("venuefour.account.differed");
  });

  it("is shared by equal credentials only, counted by reference, and ends with the last", async () => {
    const harness = createHarness();
    answer(harness, QUIET, 40);
    const first = listen(harness);
    const second = listen(harness);
    expect(harness.network.connections).toHaveLength(1);
    const address = listen(harness, harness.openAddress());
    expect(harness.network.connections).toHaveLength(2);
    const own = listen(harness, harness.open({ ...CREDENTIALS, apiKey: "AbCdEfGh_x" }));
    expect(harness.trading.streams.openCount).toBe(3);
    first.stream.close();
    expect(first.stream.state).toBe("DOWN");
    expect(first.stream.positions()).toMatchObject({ ok: false });
    expect(harness.trading.streams.openCount).toBe(3);
    for (const watching of [second, address, own]) watching.stream.close();
    expect(harness.trading.streams.openCount).toBe(0);
    await harness.clock.advanceAsync(600_000);
    expect(harness.http.requests).toEqual([]);
    expect(harness.trading.streams.openAccountStream(closed(harness), () => undefined)).toMatchObject({ ok: false });
    // Nothing is opened that nobody would close.
    harness.trading.streams.stop();
    expect(harness.trading.streams.openAccountStream(harness.open(), () => undefined)).toMatchObject({ ok: false });
  });

  it("goes on for the others when one of its listeners throws", async () => {
    const harness = createHarness();
    answer(harness, QUIET, 40);
    const session = harness.open();
    harness.trading.streams.openAccountStream(session, () => {
      throw new Error("listener");
    });
    const watching = listen(harness);
    await connect(harness);
    expect(watching.kinds()).toEqual(["LIVE", "positions"]);
  });

  it("answers for positions while LIVE, but not after an order was sent until the venue was read since", async () => {
    const routes: Record<string, unknown> = { ...QUIET };
    const { harness, session, connection } = await live(routes);
    const { reader, orders } = harness.trading;
    send(connection, { channel: "account_positions", data: [POSITION], li: 12 });
    expect(reader.heldPositions(session, BTC)).toMatchObject({ ok: true, value: [{ qtyLots: 20 }], source: "stream" });
    expect(reader.heldPositions(harness.openAddress(), BTC)).toBeNull();
    const asked = harness.http.requests.length;
    expect(await reader.readPositions(session, BTC, OPTIONS)).toMatchObject({ source: "stream" });
    expect(harness.http.requests).toHaveLength(asked);
    const placing = orders.place(session, { ...CLOSE_LONG, timeInForce: "GTC", type: "LIMIT" }, OPTIONS);
    expect(reader.heldPositions(session, BTC)).toBeNull();
    await placing;
    expect(await reader.readPositions(session, BTC, OPTIONS)).toMatchObject({ source: "venue" });
    // What the venue says is older than what was pushed.
    await harness.clock.advanceAsync(6_000);
    expect(reader.heldPositions(session, BTC)).toBeNull();
    routes["/positions"] = envelope([REST_POSITION], { last_order_id: 13 });
    await harness.clock.advanceAsync(6_000);
    expect(reader.heldPositions(session, BTC)).not.toBeNull();
  });

  it("ends the wait for an order's end that it reports first", async () => {
    const routes: Record<string, unknown> = {
      ...QUIET,
      "/orders/create": envelope({ order_id: 7 }),
      "/orders/history_by_id": envelope([eventRow()]),
    };
    const { harness, session, connection } = await live(routes);
    const placing = harness.trading.orders.place(session, CLOSE_LONG, OPTIONS);
    await harness.clock.advanceAsync(50);
    send(connection, { channel: "account_order_updates", data: [{ ...UPDATE, d: "ask", r: true }] });
    expect(await placing).toMatchObject({ outcome: "accepted", order: { status: "FILLED", averagePrice: "63441" } });
    expect(harness.http.requests.some((request) => request.path.includes("history_by_id"))).toBe(false);
  });
});

function closed(harness: Harness): AccountSession {
  const session = harness.open();
  session.close();
  return session;
}

import { describe, expect, it } from "vitest";
import type { AccountEvent } from "../../../engine/ports.js";
import { failedRead } from "../../shared/net/call-results.js";
import type { VenueoneAccountStreams } from "./streams.js";
import { addressOf, ALICE, fill, orderRow, sessionOf, setup } from "../test/account-harness.js";

describe("becoming LIVE", () => {
  it("subscribes by address only, and is LIVE after the acknowledgements and a REST read begun after them", async () => {
    const { clock, network, venue, states, open, acknowledge } = setup();
    venue.positions.set(ALICE, { BTC: { szi: "0.5", entryPx: "50000.0" } });
    const stream = open(ALICE);
    await clock.advanceAsync(0);
    network.last.open();
    await clock.advanceAsync(10);
    expect(network.last.sent.map((text) => (JSON.parse(text) as { subscription: unknown }).subscription)).toEqual([
      { type: "clearinghouseState", user: ALICE },
      { type: "openOrders", user: ALICE },
      { type: "userFills", user: ALICE },
    ]);
    expect(venue.calls).toEqual([]);
    expect(stream.state).toBe("SYNCING");
    expect(stream.positions().ok).toBe(false);
    acknowledge(ALICE);
    await clock.advanceAsync(10);
    expect(venue.calls).toEqual(["clearinghouseState", "frontendOpenOrders"]);
    expect(states()).toEqual(["SYNCING", "LIVE"]);
    expect(stream.positions()).toMatchObject({
      ok: true,
      source: "stream",
      value: [{ symbol: "BTC", direction: "LONG", qtyLots: 5_000 }],
    });
  });

  it("does not take a failed or unreadable read for a flat account, and tries again", async () => {
    for (const fault of ["isDown", "isGarbled"] as const) {
      const { clock, venue, live } = setup();
      venue.positions.set(ALICE, { BTC: { szi: "-0.5", entryPx: "50000.0" } });
      venue[fault] = true;
      const stream = await live(ALICE);
      await clock.advanceAsync(3_000);
      expect(stream.state).toBe("SYNCING");
      expect(stream.positions().ok).toBe(false);
      venue[fault] = false;
      await clock.advanceAsync(15_000);
      expect(stream.positions()).toMatchObject({ ok: true, value: [{ direction: "SHORT", qtyLots: 5_000 }] });
    }
  });

  it("says why it can not serve a key that acts for nobody", async () => {
    const { clock, states, open, network } = setup({
      resolve: () => Promise.resolve(failedRead("AUTH", "AGENT_NOT_APPROVED")),
    });
    const stream = open(ALICE);
    await clock.advanceAsync(0);
    expect(states()).toEqual(["DOWN"]);
    expect(stream.positions()).toMatchObject({ ok: false, code: "AUTH" });
    expect(network.connections).toHaveLength(0);
  });

  it("subscribes the account behind an agent, never the key's own address", async () => {
    const agent = addressOf(99);
    const { clock, network, open } = setup({
      resolve: () => Promise.resolve({ ok: true, value: ALICE, asOfMs: 0, source: "venue" }),
    });
    open(agent);
    await clock.advanceAsync(0);
    network.last.open();
    await clock.advanceAsync(10);
    expect(network.last.sent.join()).toContain(ALICE);
    expect(network.last.sent.join()).not.toContain(agent);
  });
});

describe("account frames of venueone", () => {
  it("of a fill change the position at once from its own start, report it once, and do not wait for a state", async () => {
    const { venue, events, push, live } = setup();
    venue.positions.set(ALICE, { BTC: { szi: "0.5", entryPx: "50000.0" } });
    const stream = await live(ALICE);
    events.length = 0;
    push("userFills", { user: ALICE, fills: [fill()] });
    push("userFills", { user: ALICE, fills: [fill()] });
    expect(stream.positions()).toMatchObject({ ok: true, value: [{ qtyLots: 4_000, entryPrice: "50000" }] });
    expect(events.filter((event) => event.kind === "fill")).toMatchObject([
      {
        qtyLots: 1_000,
        price: "50000.0",
        fee: { amount: "2.25", asset: "USDC" },
        tradeId: "1",
        order: { venueOrderId: "77", status: "UNKNOWN" },
      },
    ]);
  });

  it("of a closing fill make flat, of an opening one open, of a flip turn the position", async () => {
    const { push, live } = setup();
    const stream = await live(ALICE);
    push("userFills", { user: ALICE, fills: [fill({ startPosition: "0.0", side: "B", sz: "0.3", tid: 2 })] });
    expect(stream.positions()).toMatchObject({
      value: [{ direction: "LONG", qtyLots: 3_000, entryPrice: "50000", leverage: null }],
    });
    push("userFills", {
      user: ALICE,
      fills: [fill({ startPosition: "0.3", sz: "0.5", tid: 3, time: 1_790_000_006_000 })],
    });
    expect(stream.positions()).toMatchObject({ value: [{ direction: "SHORT", qtyLots: 2_000 }] });
    push("userFills", {
      user: ALICE,
      fills: [fill({ startPosition: "-0.2", side: "B", sz: "0.2", tid: 4, time: 1_790_000_007_000 })],
    });
    expect(stream.positions()).toMatchObject({ ok: true, value: [] });
  });

  it("of a state older than a fill do not undo it; those of a later one are adopted whole", async () => {
    const { clock, venue, push, live } = setup();
    venue.positions.set(ALICE, { BTC: { szi: "0.5", entryPx: "50000.0" } });
    const stream = await live(ALICE);
    const before = venue.state(ALICE, 1_790_000_004_000);
    push("userFills", { user: ALICE, fills: [fill()] });
    push("clearinghouseState", { dex: "", user: ALICE, clearinghouseState: before });
    expect(stream.positions()).toMatchObject({ value: [{ qtyLots: 4_000 }] });
    venue.positions.set(ALICE, { ETH: { szi: "2.0", entryPx: "3000.0" } });
    clock.advance(6_000);
    push("clearinghouseState", { dex: "", user: ALICE, clearinghouseState: venue.state(ALICE) });
    expect(stream.positions()).toMatchObject({ value: [{ symbol: "ETH", qtyLots: 20_000 }] });
  });

  it("of orders show them appear and shrink, and their end is looked up, also when the index lags", async () => {
    const { clock, venue, events, push, live } = setup();
    await live(ALICE);
    events.length = 0;
    push("openOrders", { dex: "", user: ALICE, orders: [orderRow(), orderRow({ oid: 6, reduceOnly: false })] });
    push("openOrders", {
      dex: "",
      user: ALICE,
      orders: [orderRow(), orderRow({ oid: 6, reduceOnly: false, sz: "0.1" })],
    });
    push("openOrders", { dex: "", user: ALICE, orders: [orderRow()] });
    await clock.advanceAsync(10);
    venue.ends.set(6, {
      status: "order",
      order: { order: orderRow({ oid: 6, reduceOnly: false, sz: "0.0" }), status: "filled", statusTimestamp: 9 },
    });
    await clock.advanceAsync(2_000);
    const orders = events.flatMap((event) =>
      event.kind === "order" ? [`${event.order.venueOrderId} ${event.order.status} ${event.order.filledLots}`] : [],
    );
    expect(orders).toEqual(["5 OPEN 0", "6 OPEN 0", "6 PARTIALLY_FILLED 1000", "6 FILLED 2000"]);
  });

  it("tell what a reduce-only order filled by the fills where its row cannot, also those before the stream began", async () => {
    const { clock, venue, events, push, live } = setup();
    await live(ALICE);
    const end = (oid: number, status: string): unknown => ({
      status: "order",
      order: { order: orderRow({ oid, sz: "0.0" }), status, statusTimestamp: clock.wallMs() },
    });
    const told = (): string[] =>
      events
        .splice(0)
        .flatMap((event) =>
          event.kind === "order"
            ? [
                `${event.order.venueOrderId} ${event.order.status} ${event.order.filledLots} at ${event.order.averagePrice}`,
              ]
            : [],
        );
    // Filled in halves; the stream tells of the second one alone.
    venue.fills = [fill({ oid: 5, tid: 1 }), fill({ oid: 5, tid: 2 }), fill({ oid: 9, tid: 3 })];
    venue.ends.set(5, end(5, "filled"));
    push("openOrders", { dex: "", user: ALICE, orders: [orderRow({ sz: "0.1" })] });
    push("userFills", { user: ALICE, fills: [fill({ oid: 5, tid: 2 })] });
    push("openOrders", { dex: "", user: ALICE, orders: [] });
    await clock.advanceAsync(2_000);
    expect(told().at(-1)).toBe("5 FILLED 2000 at 50000");
    // Its remainder was dropped, and what filled nobody was told.
    venue.fills = [fill({ oid: 6, tid: 4 })];
    venue.ends.set(6, end(6, "reduceOnlyCanceled"));
    push("openOrders", { dex: "", user: ALICE, orders: [orderRow({ oid: 6 })] });
    push("openOrders", { dex: "", user: ALICE, orders: [] });
    // So soon the index may not have them all.
    await clock.advanceAsync(100);
    expect(told()).toEqual(["6 OPEN 0 at null"]);
    await clock.advanceAsync(4_000);
    expect(told().at(-1)).toBe("6 CANCELED 1000 at 50000");
    // Never a guess: the fills cannot be read, or are not there yet.
    venue.fills = [];
    venue.ends.set(7, end(7, "filled"));
    push("openOrders", { dex: "", user: ALICE, orders: [orderRow({ oid: 7 })] });
    push("openOrders", { dex: "", user: ALICE, orders: [] });
    await clock.advanceAsync(10_000);
    expect(told().at(-1)).toBe("7 UNKNOWN 0 at null");
    // All of it was streamed: no read of fills is spent.
    venue.calls.length = 0;
    venue.ends.set(8, end(8, "filled"));
    push("openOrders", { dex: "", user: ALICE, orders: [orderRow({ oid: 8 })] });
    push("userFills", { user: ALICE, fills: [fill({ oid: 8, tid: 5, sz: "0.2" })] });
    push("openOrders", { dex: "", user: ALICE, orders: [] });
    await clock.advanceAsync(2_000);
    expect(told().at(-1)).toMatch(/^8 FILLED 2000/);
    expect(venue.calls).not.toContain("userFillsByTime");
  });

  it("tell how an order ended that filled without ever resting, a liquidation included", async () => {
    const { clock, events, push, live, venue } = setup();
    await live(ALICE);
    events.length = 0;
    const end = (oid: number, status: string, changes: Readonly<Record<string, unknown>>): unknown => ({
      status: "order",
      order: { order: orderRow({ oid, tif: "Ioc", ...changes }), status, statusTimestamp: 1_790_000_005_001 },
    });
    const liquidation = { liquidatedUser: ALICE, markPx: "49000.0", method: "market" };
    venue.ends.set(77, end(77, "filled", { sz: "0.0", origSz: "0.1", tif: "LiquidationMarket" }));
    push("userFills", { user: ALICE, fills: [fill({ dir: "Liquidated Cross Long", liquidation })] });
    push("userFills", { user: ALICE, fills: [fill({ oid: 78, tid: 2, sz: "0.1" })] });
    // Not indexed at first, and still resting when it is.
    await clock.advanceAsync(10);
    venue.ends.set(78, end(78, "open", { sz: "0.3", origSz: "0.4" }));
    await clock.advanceAsync(2_000);
    const told = events.flatMap((event) =>
      event.kind === "fill"
        ? [`fill ${event.order.venueOrderId} ${event.qtyLots} ${event.fee?.amount}`]
        : event.kind === "order"
          ? [`${event.order.venueOrderId} ${event.order.status} ${event.order.filledLots}/${event.order.qtyLots}`]
          : [],
    );
    expect(told).toEqual([
      "fill 77 1000 2.25",
      "fill 78 1000 2.25",
      "77 FILLED 1000/1000",
      "78 PARTIALLY_FILLED 1000/4000",
    ]);
  });

  it("lead to no guess about an order that filled and cannot be looked up", async () => {
    const { clock, events, push, live, venue } = setup();
    await live(ALICE);
    events.length = 0;
    push("userFills", { user: ALICE, fills: [fill()] });
    await clock.advanceAsync(10_000);
    expect(events.filter((event) => event.kind === "order")).toEqual([]);
    expect(venue.calls.filter((type) => type === "orderStatus")).toHaveLength(3);
  });

  it("of an order whose end can not be learnt make it UNKNOWN, never a guess", async () => {
    const { clock, events, push, live, streams } = setup();
    await live(ALICE);
    push("openOrders", { dex: "", user: ALICE, orders: [orderRow()] });
    push("openOrders", { dex: "", user: ALICE, orders: [] });
    await clock.advanceAsync(10_000);
    expect(events.at(-1)).toMatchObject({ kind: "order", order: { venueOrderId: "5", status: "UNKNOWN" } });
    expect(streams.stats().unresolvedEndCount).toBe(1);
  });

  it("of a stop that has fired tell how it ended, not that it fired alone", async () => {
    const { clock, venue, events, push, live } = setup();
    await live(ALICE);
    const row = orderRow({ isTrigger: true, triggerPx: "49000.0", orderType: "Stop Market" });
    push("openOrders", { dex: "", user: ALICE, orders: [row] });
    events.length = 0;
    const told = (status: string): unknown => ({
      status: "order",
      order: { order: row, status, statusTimestamp: clock.wallMs() },
    });
    venue.ends.set(5, told("triggered"));
    push("openOrders", { dex: "", user: ALICE, orders: [] });
    await clock.advanceAsync(100);
    venue.ends.set(5, told("marginCanceled"));
    await clock.advanceAsync(10_000);
    expect(events.flatMap((event) => (event.kind === "order" ? [event.order.status] : []))).toEqual(["CANCELED"]);
  });

  it("of another account or a builder's coin change nothing", async () => {
    const { venue, push, live, events } = setup();
    const stream = await live(ALICE);
    events.length = 0;
    venue.positions.set(addressOf(7), { BTC: { szi: "9.0", entryPx: "1.0" } });
    push("clearinghouseState", { dex: "", user: addressOf(7), clearinghouseState: venue.state(addressOf(7)) });
    push("userFills", { user: ALICE, fills: [fill({ coin: "xyz:TSLA", sz: "0.123456789" })] });
    expect(stream.positions()).toMatchObject({ ok: true, value: [] });
    expect(events).toEqual([]);
  });

  it("that can not be read take the account out of LIVE until REST has told the whole state", async () => {
    const { clock, venue, push, live } = setup();
    venue.positions.set(ALICE, { BTC: { szi: "0.5", entryPx: "50000.0" } });
    const stream = await live(ALICE);
    push("clearinghouseState", { dex: "", user: ALICE, clearinghouseState: { assetPositions: [{}] } });
    expect(stream.state).toBe("SYNCING");
    expect(stream.positions().ok).toBe(false);
    await clock.advanceAsync(10);
    expect(stream.positions()).toMatchObject({ ok: true, value: [{ qtyLots: 5_000 }] });
  });
});

describe("fills of a frame that cannot be read", () => {
  it("are read from the venue and reported, each once", async () => {
    const { clock, venue, events, push, live } = setup();
    const stream = await live(ALICE);
    const missed = fill({ time: clock.wallMs(), tid: 31, startPosition: "0.0", side: "B" });
    push("userFills", { user: ALICE, fills: [{ ...missed, px: 5 }] });
    expect(stream.state).toBe("SYNCING");
    // The index of fills lags behind the stream.
    await clock.advanceAsync(500);
    venue.fills = [missed];
    await clock.advanceAsync(10_000);
    const told = (): string[] => events.flatMap((event) => (event.kind === "fill" ? [event.tradeId] : []));
    expect([stream.state, told()]).toEqual(["LIVE", ["31"]]);
    push("userFills", { user: ALICE, fills: [missed] });
    expect(told()).toEqual(["31"]);
  });
});

describe("losing the connection", () => {
  it("leaves LIVE at once, reconciles after the reconnect, and reports the fill that happened meanwhile", async () => {
    const { clock, network, venue, events, states, acknowledge, push, live } = setup();
    venue.positions.set(ALICE, { BTC: { szi: "0.5", entryPx: "50000.0" } });
    const stream = await live(ALICE);
    network.last.end(1006);
    expect(stream.state).toBe("STALE");
    expect(stream.positions().ok).toBe(false);
    venue.positions.set(ALICE, { BTC: { szi: "0.4", entryPx: "50000.0" } });
    await clock.advanceAsync(600);
    network.last.open();
    await clock.advanceAsync(10);
    push("userFills", { user: ALICE, isSnapshot: true, fills: [fill({ time: clock.wallMs() - 300 })] });
    expect(stream.positions().ok).toBe(false);
    acknowledge(ALICE);
    await clock.advanceAsync(10);
    expect(stream.positions()).toMatchObject({ ok: true, value: [{ qtyLots: 4_000 }] });
    expect(events.filter((event) => event.kind === "fill")).toHaveLength(1);
    expect(states()).toEqual(["SYNCING", "LIVE", "STALE", "LIVE"]);
  });

  it("takes missed fills of one moment in the order in which they happened: each names where it began", async () => {
    const { clock, network, venue, acknowledge, push, live } = setup();
    venue.positions.set(ALICE, { BTC: { szi: "0.5", entryPx: "50000.0" } });
    const stream = await live(ALICE);
    network.last.end(1006);
    await clock.advanceAsync(600);
    network.last.open();
    await clock.advanceAsync(10);
    // The read of the account lags behind them.
    const time = clock.wallMs() + 300;
    const first = fill({ time, sz: "0.2", tid: 21 });
    const last = fill({ time, sz: "0.3", startPosition: "0.3", tid: 22 });
    push("userFills", { user: ALICE, isSnapshot: true, fills: [last, first] });
    acknowledge(ALICE);
    await clock.advanceAsync(10);
    expect(stream.positions()).toMatchObject({ ok: true, value: [] });
  });

  it("does not bring an order back that ended while an older list of REST was on its way", async () => {
    const { clock, network, venue, events, push, acknowledge, live } = setup();
    venue.orders.set(ALICE, [orderRow()]);
    const stream = await live(ALICE);
    network.last.end(1006);
    await clock.advanceAsync(600);
    network.last.open();
    await clock.advanceAsync(10);
    let answer = (): void => {};
    const { request } = venue;
    venue.request = async (asked) => {
      const told = request.call(venue, asked);
      if (asked.body?.includes("frontendOpenOrders") === true) await new Promise<void>((resolve) => (answer = resolve));
      return told;
    };
    acknowledge(ALICE);
    await clock.advanceAsync(10);
    venue.ends.set(5, {
      status: "order",
      order: { order: orderRow(), status: "canceled", statusTimestamp: clock.wallMs() },
    });
    push("openOrders", { dex: "", user: ALICE, orders: [] });
    await clock.advanceAsync(10);
    answer();
    await clock.advanceAsync(10);
    expect(stream.state).toBe("LIVE");
    const told = events.flatMap((event) => (event.kind === "order" ? [event.order.status] : []));
    expect(told).toEqual(["OPEN", "CANCELED"]);
  });

  it("is LIVE only by an answer asked for after the last frame that could not be read", async () => {
    const { clock, venue, push, live } = setup();
    const stream = await live(ALICE);
    let answer = (): void => {};
    const { request } = venue;
    venue.request = async (asked) => {
      const told = request.call(venue, asked);
      if (asked.body?.includes("frontendOpenOrders") === true) await new Promise<void>((resolve) => (answer = resolve));
      return told;
    };
    push("openOrders", { dex: "", user: ALICE, orders: {} });
    await clock.advanceAsync(10);
    push("openOrders", { dex: "", user: ALICE, orders: {} });
    answer();
    await clock.advanceAsync(10);
    expect(stream.state).toBe("SYNCING");
    await clock.advanceAsync(1_000);
    answer();
    await clock.advanceAsync(10);
    expect(stream.state).toBe("LIVE");
  });

  it("takes the history of the first snapshot for history", async () => {
    const { clock, network, events, open, push } = setup();
    open(ALICE);
    await clock.advanceAsync(0);
    network.last.open();
    push("userFills", { user: ALICE, isSnapshot: true, fills: [fill({ tid: 8 }), fill({ tid: 9 })] });
    expect(events.filter((event) => event.kind === "fill")).toEqual([]);
  });

  it("reports the fills beside one with a time in the future, and no history after a connection was lost", async () => {
    const { clock, network, events, open, push } = setup();
    open(ALICE);
    await clock.advanceAsync(0);
    network.last.open();
    const nowMs = clock.wallMs();
    const odd = fill({ tid: 9, time: nowMs + 86_400_000 });
    const history = [fill({ tid: 8, time: nowMs - 5_000 }), fill({ tid: 7, time: nowMs - 6_000 })];
    push("userFills", { user: ALICE, isSnapshot: true, fills: [odd, ...history] });
    const tradeIds = (): readonly string[] => events.flatMap((event) => (event.kind === "fill" ? [event.tradeId] : []));
    expect(tradeIds()).toEqual([]);
    push("userFills", {
      user: ALICE,
      fills: [fill({ tid: 10, time: nowMs + 86_400_000 }), fill({ tid: 11, time: nowMs })],
    });
    expect(tradeIds()).toEqual(["11"]);
    // Replayed, as after a reconnect.
    push("userFills", { user: ALICE, isSnapshot: true, fills: [fill({ tid: 11, time: nowMs }), ...history] });
    expect(tradeIds()).toEqual(["11"]);
  });

  it("reads the truth once a minute and adopts what differs", async () => {
    const { clock, venue, streams, push, live } = setup();
    const stream = await live(ALICE);
    for (let count = 0; count < 7; count++) {
      await clock.advanceAsync(8_000);
      push("clearinghouseState", { dex: "", user: ALICE, clearinghouseState: venue.state(ALICE) });
    }
    venue.positions.set(ALICE, { BTC: { szi: "0.7", entryPx: "50000.0" } });
    await clock.advanceAsync(6_000);
    expect(stream.positions()).toMatchObject({ value: [{ qtyLots: 7_000 }] });
    expect(streams.stats().differenceCount).toBe(1);
  });

  it.each(["state", "fill"])(
    "is not kept from the truth for ever by one %s of a time that is not yet",
    async (kind) => {
      const { clock, venue, streams, push, live } = setup();
      venue.positions.set(ALICE, { BTC: { szi: "0.5", entryPx: "50000.0" } });
      const stream = await live(ALICE);
      const farMs = clock.trueMs() + 86_400_000;
      if (kind === "fill")
        push("userFills", { user: ALICE, fills: [fill({ time: farMs, startPosition: "0.5", sz: "0.1" })] });
      else push("clearinghouseState", { dex: "", user: ALICE, clearinghouseState: venue.state(ALICE, farMs) });
      await clock.advanceAsync(3_000);
      venue.positions.set(ALICE, { BTC: { szi: "0.9", entryPx: "50000.0" } });
      for (let count = 0; count < 10; count++) {
        await clock.advanceAsync(8_000);
        push("clearinghouseState", { dex: "", user: ALICE, clearinghouseState: venue.state(ALICE) });
      }
      expect(stream.state).toBe("LIVE");
      expect(stream.positions()).toMatchObject({ value: [{ qtyLots: 9_000 }] });
      expect(streams.stats().decodeErrorCount).toBe(1);
    },
  );

  it("reads the truth once a minute also while our wall clock is set back by an hour", async () => {
    const { clock, venue, streams, push, live } = setup();
    const stream = await live(ALICE);
    clock.stepWall(-3_600_000);
    for (let count = 0; count < 7; count++) {
      await clock.advanceAsync(8_000);
      push("clearinghouseState", { dex: "", user: ALICE, clearinghouseState: venue.state(ALICE) });
    }
    // Nobody tells of it.
    venue.positions.set(ALICE, { BTC: { szi: "0.7", entryPx: "50000.0" } });
    await clock.advanceAsync(6_000);
    expect(stream.positions()).toMatchObject({ value: [{ qtyLots: 7_000 }] });
    expect(streams.stats().differenceCount).toBe(1);
  });

  it("probes a silent state stream: quiet if REST says the same, else it leaves LIVE until it is whole again", async () => {
    const { clock, network, venue, acknowledge, push, live } = setup();
    const stream = await live(ALICE);
    const wait = async (): Promise<void> => {
      await clock.advanceAsync(21_000);
      network.last.receive('{"channel":"pong"}');
    };
    await wait();
    expect(stream.state).toBe("LIVE");
    venue.positions.set(ALICE, { BTC: { szi: "0.7", entryPx: "50000.0" } });
    await wait();
    expect(stream.state).toBe("STALE");
    for (const type of ["clearinghouseState", "openOrders", "userFills"]) {
      expect(network.last.sent).toContain(
        `{"method":"unsubscribe","subscription":${JSON.stringify({ type, user: ALICE })}}`,
      );
    }
    acknowledge(ALICE);
    await clock.advanceAsync(10);
    expect(stream.positions()).toMatchObject({ ok: true, value: [{ qtyLots: 7_000 }] });
    push("clearinghouseState", { dex: "", user: ALICE, clearinghouseState: venue.state(ALICE) });
    expect(stream.state).toBe("LIVE");
  });
});

function doubtAll(streams: VenueoneAccountStreams, account: string | null): void {
  for (const watched of streams.watched(account)) {
    watched.reads.doubt();
    watched.refreshSoon();
  }
}

/** A reducing order of ours goes out. */
function sell(streams: VenueoneAccountStreams, qtyLots: number): void {
  for (const { reads } of streams.watched(ALICE))
    reads.sent({ clientId: "0xa", coin: "BTC", side: "SELL", qtyLots, rests: false });
}

/** Null when its outcome is unknown, or it was refused. */
function answered(streams: VenueoneAccountStreams, filledLots: number | null): void {
  for (const watched of streams.watched(ALICE)) {
    if (filledLots === null) watched.reads.unclear("0xa");
    else watched.reads.answered("0xa", { status: "FILLED", filledLots });
    watched.refreshSoon();
  }
}

describe("standing in for a live read", () => {
  it("does so only while LIVE and recent", async () => {
    const { clock, network, venue, streams, live } = setup();
    venue.positions.set(ALICE, { BTC: { szi: "0.5", entryPx: "50000.0" } });
    expect(streams.livePositions(ALICE)).toBeNull();
    await live(ALICE);
    expect(streams.livePositions(ALICE)?.value).toHaveLength(1);
    await clock.advanceAsync(6_100);
    expect(streams.livePositions(ALICE)).toBeNull();
    network.last.end(1006);
    expect(streams.livePositions(ALICE)).toBeNull();
  });

  it("does not between an order of ours and a state surely newer than its answer", async () => {
    const { clock, venue, streams, push, live } = setup();
    venue.positions.set(ALICE, { BTC: { szi: "0.5", entryPx: "50000.0" } });
    await live(ALICE);
    doubtAll(streams, ALICE);
    expect(streams.livePositions(ALICE)).toBeNull();
    push("clearinghouseState", { dex: "", user: ALICE, clearinghouseState: venue.state(ALICE) });
    expect(streams.livePositions(ALICE)).toBeNull();
    venue.positions.set(ALICE, {});
    await clock.advanceAsync(1_600);
    expect(streams.livePositions(ALICE)?.value).toEqual([]);
  });

  it("does not for a state from the future, which is not surely newer than the answer either", async () => {
    const { clock, venue, streams, push, live } = setup();
    venue.positions.set(ALICE, { BTC: { szi: "0.5", entryPx: "50000.0" } });
    await live(ALICE);
    for (const { reads } of streams.watched(ALICE)) reads.doubt();
    const state = venue.state(ALICE) as { readonly time: number };
    for (const aheadMs of [90_000, 91_000])
      push("clearinghouseState", {
        dex: "",
        user: ALICE,
        clearinghouseState: { ...state, time: clock.wallMs() + aheadMs },
      });
    expect(streams.livePositions(ALICE)).toBeNull();
  });

  it("is not frozen by a state or a fill with a time in the future", async () => {
    for (const isFill of [false, true]) {
      const { clock, measure, venue, push, live } = setup();
      venue.positions.set(ALICE, { BTC: { szi: "0.5", entryPx: "50000.0" } });
      const stream = await live(ALICE);
      measure(0);
      const aheadMs = 86_400_000;
      if (isFill) push("userFills", { user: ALICE, fills: [fill({ time: clock.wallMs() + aheadMs })] });
      else
        push("clearinghouseState", {
          dex: "",
          user: ALICE,
          clearinghouseState: venue.state(ALICE, clock.wallMs() + aheadMs),
        });
      venue.positions.set(ALICE, {});
      await clock.advanceAsync(5_000);
      push("clearinghouseState", { dex: "", user: ALICE, clearinghouseState: venue.state(ALICE) });
      await clock.advanceAsync(5_000);
      expect([isFill, stream.positions()]).toMatchObject([isFill, { ok: true, value: [] }]);
    }
  });

  it("is not frozen by a clock that was a minute ahead, once that is measured", async () => {
    const { clock, measure, venue, push, live } = setup();
    venue.positions.set(ALICE, { BTC: { szi: "0.5", entryPx: "50000.0" } });
    const stream = await live(ALICE);
    const tell = (aheadMs: number): void => {
      measure(aheadMs);
      const time = clock.wallMs() + aheadMs;
      push("clearinghouseState", { dex: "", user: ALICE, clearinghouseState: venue.state(ALICE, time) });
    };
    tell(60_000);
    await clock.advanceAsync(2_000);
    venue.positions.set(ALICE, {});
    tell(0);
    expect(stream.positions()).toMatchObject({ ok: true, value: [] });
  });

  it("does while reducing orders of ours leave what is wanted, whatever they did", async () => {
    const { venue, streams, push, live } = setup();
    venue.positions.set(ALICE, { BTC: { szi: "0.5", entryPx: "50000.0" } });
    await live(ALICE);
    const wanted = (lots: number) => streams.livePositions(ALICE, { coin: "BTC", lots });
    sell(streams, 1_000);
    expect(wanted(4_000)?.value).toMatchObject([{ qtyLots: 5_000 }]);
    expect(wanted(4_001)).toBeNull();
    // The exact size, ALL, is another matter.
    expect(streams.livePositions(ALICE)).toBeNull();
    // Of another coin nothing is under way, and none is held.
    expect(streams.livePositions(ALICE, { coin: "ETH", lots: 1 })).not.toBeNull();
    answered(streams, 1_000);
    expect(wanted(4_001)).toBeNull();
    push("userFills", { user: ALICE, fills: [fill({ cloid: "0xa" })] });
    expect(wanted(4_000)?.value).toMatchObject([{ qtyLots: 4_000 }]);
    expect(streams.livePositions(ALICE)?.value).toMatchObject([{ qtyLots: 4_000 }]);
  });

  it("does not where an order might leave nothing", async () => {
    const { venue, streams, live } = setup();
    venue.positions.set(ALICE, { BTC: { szi: "0.5", entryPx: "50000.0" } });
    await live(ALICE);
    sell(streams, 5_000);
    expect(streams.livePositions(ALICE, { coin: "BTC", lots: 0 })).toBeNull();
  });

  it("asks the venue for the whole state where a fill that was answered is not streamed", async () => {
    const { clock, venue, streams, live } = setup();
    venue.positions.set(ALICE, { BTC: { szi: "0.5", entryPx: "50000.0" } });
    await live(ALICE);
    sell(streams, 1_000);
    answered(streams, 1_000);
    venue.positions.set(ALICE, { BTC: { szi: "0.4", entryPx: "50000.0" } });
    await clock.advanceAsync(1_400);
    expect(streams.livePositions(ALICE)).toBeNull();
    await clock.advanceAsync(300);
    expect(streams.livePositions(ALICE)?.value).toMatchObject([{ qtyLots: 4_000 }]);
  });

  it("is not done after a refusal, an unknown outcome or an answer to an order that it does not know", async () => {
    for (const note of [(streams: VenueoneAccountStreams) => sell(streams, 1_000), () => {}]) {
      const { clock, venue, streams, live } = setup();
      venue.positions.set(ALICE, { BTC: { szi: "0.5", entryPx: "50000.0" } });
      await live(ALICE);
      note(streams);
      answered(streams, null);
      expect(streams.livePositions(ALICE, { coin: "BTC", lots: 1 })).toBeNull();
      await clock.advanceAsync(1_600);
      expect(streams.livePositions(ALICE)).not.toBeNull();
    }
  });

  it("trusts no account while it is not known whose order it was", async () => {
    const { streams, live } = setup();
    await live(ALICE);
    doubtAll(streams, null);
    expect(streams.livePositions(ALICE)).toBeNull();
  });
});

describe("the pool of account stream slots", () => {
  it("never subscribes more users than the venue allows, waits until freed ones are free, and refuses one more", async () => {
    const { clock, network, streams, live, open } = setup({ maxUsers: 3 });
    const opened = [await live(addressOf(1)), await live(addressOf(2)), await live(addressOf(3))];
    expect(streams.openAccountStream(sessionOf(addressOf(4)), () => {})).toMatchObject({ ok: false });
    opened[0]?.close();
    open(addressOf(4));
    await clock.advanceAsync(500);
    const subscribedTo = (address: string): boolean =>
      network.last.sent.some((text) => text.includes('"subscribe"') && text.includes(address));
    expect(
      network.last.sent.filter((text) => text.includes("unsubscribe") && text.includes(addressOf(1))),
    ).toHaveLength(3);
    expect(subscribedTo(addressOf(4))).toBe(false);
    await clock.advanceAsync(5_000);
    expect(subscribedTo(addressOf(4))).toBe(true);
    expect(streams.stats().accountCount).toBe(3);
  });

  it("subscribes who waits for a freed place, although our wall clock was set back meanwhile", async () => {
    const { clock, network, live, open } = setup({ maxUsers: 1 });
    (await live(addressOf(1))).close();
    open(addressOf(2));
    await clock.advanceAsync(500);
    clock.stepWall(-3_600_000);
    await clock.advanceAsync(10_000);
    expect(network.last.sent.some((text) => text.includes('"subscribe"') && text.includes(addressOf(2)))).toBe(true);
  });

  it("gives an account that trades repeatedly one by itself, least recently used first out", async () => {
    const { clock, streams } = setup({ maxUsers: 2 });
    for (const index of [1, 2, 1, 2]) streams.noteUse(addressOf(index), null);
    expect(streams.stats().accountCount).toBe(2);
    await clock.advanceAsync(1_000);
    streams.noteUse(addressOf(1), null);
    streams.noteUse(addressOf(3), null);
    streams.noteUse(addressOf(3), null);
    expect(streams.stats().accountCount).toBe(2);
    await clock.advanceAsync(11 * 60_000);
    expect(streams.stats().accountCount).toBe(0);
  });

  it("shares one upstream stream between listeners, and calls each", async () => {
    const { network, venue, streams, live, push } = setup();
    venue.positions.set(ALICE, { BTC: { szi: "0.5", entryPx: "50000.0" } });
    await live(ALICE);
    const second: AccountEvent[] = [];
    const opened = streams.openAccountStream(sessionOf(ALICE), (event) => second.push(event));
    await Promise.resolve();
    await Promise.resolve();
    expect(opened.ok && opened.stream.state).toBe("LIVE");
    const sent = network.last.sent.length;
    push("userFills", { user: ALICE, fills: [fill()] });
    expect(second.map((event) => event.kind)).toEqual(["state", "fill", "positions"]);
    expect(network.last.sent).toHaveLength(sent);
  });

  it("learns a lower limit from the venue's refusal, which names nobody", async () => {
    const { clock, streams, live, open, push, states } = setup();
    await live(addressOf(1));
    open(addressOf(2));
    await clock.advanceAsync(10);
    push("error", "Cannot track more than 15 total users.");
    expect(streams.stats().accountCount).toBe(1);
    expect(states().at(-1)).toBe("DOWN");
    expect(streams.openAccountStream(sessionOf(addressOf(3)), () => {})).toEqual({
      ok: false,
      problem: "STREAM_LIMIT: all 1 account streams of this venue are in use",
    });
  });

  it("leaves nothing behind when stopped", async () => {
    const { clock, streams, live, states } = setup();
    await live(ALICE);
    streams.stop();
    await clock.advanceAsync(60_000);
    expect(states().at(-1)).toBe("DOWN");
    expect(clock.pendingTimerCount).toBe(0);
    expect(streams.openAccountStream(sessionOf(ALICE), () => {})).toMatchObject({ ok: false });
  });
});

describe("an account whose frames are lost or late", () => {
  it("is proven by whole states alone: an order's frame says nothing of what is held", async () => {
    const { clock, venue, streams, push, live } = setup();
    venue.positions.set(ALICE, { BTC: { szi: "0.5", entryPx: "50000.0" } });
    const stream = await live(ALICE);
    const asOfMs = (): number => {
      const read = stream.positions();
      return read.ok ? read.asOfMs : 0;
    };
    const provenMs = asOfMs();
    for (let second = 0; second < 8; second++) {
      await clock.advanceAsync(1_000);
      push("openOrders", { dex: "", user: ALICE, orders: [] });
    }
    expect([asOfMs(), streams.livePositions(ALICE)]).toEqual([provenMs, null]);
    push("clearinghouseState", { dex: "", user: ALICE, clearinghouseState: venue.state(ALICE) });
    expect([asOfMs(), streams.livePositions(ALICE) === null]).toEqual([clock.wallMs(), false]);
  });

  it("is not trusted on a state that comes seconds late, until one that does not", async () => {
    const { clock, venue, streams, push, live } = setup();
    await live(ALICE);
    const tell = (lateMs: number): void => {
      const clearinghouseState = venue.state(ALICE, clock.wallMs() - lateMs);
      push("clearinghouseState", { dex: "", user: ALICE, clearinghouseState });
    };
    for (let second = 0; second < 12; second++) {
      await clock.advanceAsync(1_000);
      tell(0);
    }
    expect(streams.livePositions(ALICE)).not.toBeNull();
    await clock.advanceAsync(10_000);
    tell(8_000);
    expect(streams.livePositions(ALICE)).toBeNull();
    for (let second = 0; second < 3; second++) {
      await clock.advanceAsync(1_000);
      tell(0);
    }
    expect(streams.livePositions(ALICE)).not.toBeNull();
  });

  it("is not LIVE while an order of ours is neither streamed nor can be read", async () => {
    const { clock, venue, streams, live, push } = setup();
    const stream = await live(ALICE);
    doubtAll(streams, ALICE);
    venue.isDown = true;
    for (let second = 0; second < 8; second++) {
      await clock.advanceAsync(1_000);
      push("openOrders", { dex: "", user: ALICE, orders: [] });
    }
    expect([stream.state, stream.positions().ok]).toEqual(["SYNCING", false]);
    venue.isDown = false;
    await clock.advanceAsync(20_000);
    expect(stream.state).toBe("LIVE");
  });
});

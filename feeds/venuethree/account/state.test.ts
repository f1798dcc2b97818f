/** Frames of account channels, recorded and made, and the state they build. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AccountEvent } from "../../../engine/ports.js";
import { accountChannel, type AccountFrame, decodeAccountFrame } from "./frames.js";
import { AccountState } from "./state.js";
import type { VenuethreeWireOrder } from "./wire.js";
import { accountFixture, BTC, ETH } from "../test/trading-harness.js";

function frameOf<K extends AccountFrame["kind"]>(kind: K, text: string): Extract<AccountFrame, { kind: K }> {
  const frame = decodeAccountFrame(text);
  if (frame.kind !== kind) throw new Error(frame.kind);
  return frame as Extract<AccountFrame, { kind: K }>;
}

function slotOf(accountIndex: number): { readonly slot: AccountState; readonly events: AccountEvent[] } {
  const events: AccountEvent[] = [];
  const slot = new AccountState({
    accountIndex,
    instrumentOf: (marketId) => [BTC, ETH].find(({ nativeId }) => nativeId === marketId) ?? null,
    emit: (event) => events.push(event),
  });
  return { slot, events };
}

const [recorded] = frameOf("orders", accountFixture("live-ws-account-all-orders-subscribed")).orders;

function wire(changes: Partial<VenuethreeWireOrder>): VenuethreeWireOrder {
  if (recorded === undefined) throw new Error("no order in the fixture");
  return { ...recorded, ...changes };
}

describe("the reader of account frames of venuethree", () => {
  it("reads the recorded ones", () => {
    expect(frameOf("orders", accountFixture("live-ws-account-all-orders-subscribed"))).toMatchObject({
      accountIndex: 516,
      isSnapshot: true,
      orders: [{ order_id: "844424914280027", client_order_id: "424242424242", market_index: 1 }],
    });
    expect(frameOf("positions", accountFixture("live-ws-account-all-positions-update-flat"))).toMatchObject({
      accountIndex: 516,
      isSnapshot: false,
      positions: [{ market_id: 1, position: "0.00000" }],
    });
    expect(frameOf("trades", accountFixture("live-ws-account-all-trades-subscribed"))).toMatchObject({
      isSnapshot: true,
      trades: [],
    });
    expect(frameOf("trades", accountFixture("nt-ws-account-all-trades-update")).trades).toMatchObject([
      { trade_id: "19209006902", bid_account_id: 1234, taker_fee: 196 },
    ]);
    expect(
      (JSON.parse(accountFixture("live-ws-errors")) as unknown[]).map((each) =>
        decodeAccountFrame(JSON.stringify(each)),
      ),
    ).toEqual([
      { kind: "error", code: 30005, accountIndex: null, channel: null },
      { kind: "error", code: 30003, accountIndex: null, channel: null },
      { kind: "error", code: 20001, accountIndex: 1, channel: "account_all_orders" },
    ]);
  });

  it.each<[string, string, unknown]>([
    [
      "a lone list of trades",
      '{"type":"subscribed/account_all_trades","channel":"account_all_trades:1","trades":[]}',
      { kind: "trades", trades: [] },
    ],
    [
      "nothing at all",
      '{"type":"subscribed/account_all_orders","channel":"account_all_orders:1","orders":null}',
      { kind: "orders", orders: [] },
    ],
    [
      "a slash in the channel",
      '{"type":"update/account_all_positions","channel":"account_all_positions/7","positions":{}}',
      { kind: "positions", accountIndex: 7 },
    ],
    ["a ping", '{"type":"ping"}', { kind: "ping" }],
    ["a pong", '{"type":"pong"}', { kind: "other" }],
    [
      "a channel of others",
      '{"type":"update/account_all_assets","channel":"account_all_assets:1","assets":{}}',
      { kind: "other" },
    ],
    ["half a frame", '{"type":"update/account_all_or', { kind: "unreadable", accountIndex: null }],
    [
      "a broken row",
      '{"type":"update/account_all_orders","channel":"account_all_orders:9","orders":{"1":[{}]}}',
      { kind: "unreadable", accountIndex: 9 },
    ],
    [
      "a broken position",
      '{"type":"update/account_all_positions","channel":"account_all_positions:9","positions":{"1":{"market_id":1}}}',
      { kind: "unreadable", accountIndex: 9 },
    ],
  ])("%s", (_what, text, expected) => {
    expect(decodeAccountFrame(text)).toMatchObject(expected as object);
  });

  it("never throws, whatever arrives", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        decodeAccountFrame(text);
      }),
    );
    expect(accountChannel("account_all_orders", 516)).toBe("account_all_orders/516");
  });
});

describe("the state of one account", () => {
  it("reports orders once, and never lets one go back", () => {
    const { slot, events } = slotOf(516);
    const open = wire({});
    const filled = wire({
      status: "filled",
      filled_base_amount: "0.00100",
      filled_quote_amount: "58.3",
      transaction_time: open.transaction_time + 5,
    });
    slot.applyOrders([open]);
    slot.applyOrders([open]);
    slot.applyOrders([filled]);
    slot.applyOrders([open]);
    slot.applyOpenOrders([open]);
    expect(events.map((event) => (event.kind === "order" ? event.order.status : event.kind))).toEqual([
      "OPEN",
      "FILLED",
    ]);
    expect(slot.isOpen(open.order_id)).toBe(false);
    for (const [field, id] of [
      ["order_id", open.order_id],
      ["client_order_id", open.client_order_id],
    ] as const)
      expect(slot.endedOrder(field, id)).toMatchObject({ status: "FILLED", venueOrderId: open.order_id });
    expect(slot.endedOrder("order_id", "1")).toBeNull();
  });

  it("takes what fills without a new time of the order: its time may stand still", () => {
    const [doc] = frameOf(
      "orders",
      accountFixture("nt-ws-account-orders-update")
        .replaceAll("account_orders", "account_all_orders")
        .replace("orders:0:1234", "orders:1234"),
    ).orders;
    if (doc === undefined) throw new Error("no order in the fixture");
    const { slot, events } = slotOf(1234);
    slot.applyOrders([
      { ...doc, filled_base_amount: "0.0000", filled_quote_amount: "0", remaining_base_amount: "0.0050" },
    ]);
    slot.applyOrders([doc]);
    slot.applyOpenOrders([{ ...doc, filled_base_amount: "0.0000", filled_quote_amount: "0" }]);
    expect(events).toMatchObject([
      { kind: "order", order: { status: "OPEN", filledLots: 0 } },
      { kind: "order", order: { status: "PARTIALLY_FILLED", filledLots: 20 } },
    ]);
  });

  it("keeps an order with a status of tomorrow among the open ones until a known word ends it", () => {
    const { slot } = slotOf(516);
    const odd = wire({ status: "paused" });
    slot.applyOrders([odd]);
    expect(slot.isOpen(odd.order_id)).toBe(true);
    expect(slot.endedOrder("order_id", odd.order_id)).toBeNull();
    expect(slot.applyOpenOrders([]).gone.map(({ order_id }) => order_id)).toEqual([odd.order_id]);
    // Of the same microsecond: the word that is known says more.
    slot.applyOrders([{ ...odd, status: "filled" }]);
    expect(slot.isOpen(odd.order_id)).toBe(false);
    expect(slot.endedOrder("order_id", odd.order_id)).toMatchObject({ venueStatus: "filled" });
  });

  it("reports which orders left the list, and ends them as reported or as unknown", () => {
    const { slot, events } = slotOf(516);
    const [first, second] = [wire({}), wire({ order_id: "844424914280099" })];
    slot.applyOrders([first, second]);
    const listed = slot.applyOpenOrders([]);
    expect(listed.gone.map(({ order_id }) => order_id)).toEqual([first.order_id, second.order_id]);
    slot.applyOrders([{ ...first, status: "canceled", transaction_time: first.transaction_time + 1 }]);
    slot.endUnknown(first);
    slot.endUnknown(second);
    expect(events.slice(2).map((event) => (event.kind === "order" ? event.order.status : event.kind))).toEqual([
      "CANCELED",
      "UNKNOWN",
    ]);
  });

  it("reports each fill once, with the order it was of; the first history is only a baseline", () => {
    const trade = frameOf("trades", accountFixture("nt-ws-account-all-trades-update")).trades[0];
    const order = frameOf("trades", accountFixture("nt-ws-account-all-trades-update"));
    expect(order.accountIndex).toBe(1234);
    if (trade === undefined) throw new Error("no trade in the fixture");
    const { slot, events } = slotOf(1234);
    slot.applyTrades([trade], true);
    slot.applyTrades([trade], false);
    expect(events).toEqual([]);
    const next = { ...trade, trade_id: "19209006903" };
    slot.applyTrades([next], false);
    slot.applyTrades([next, { ...trade, trade_id: "19209006904", timestamp: trade.timestamp - 1 }], true);
    expect(events.map((event) => (event.kind === "fill" ? event.tradeId : event.kind))).toEqual([
      "19209006903",
      "19209006904",
    ]);
    expect(events[0]).toMatchObject({
      kind: "fill",
      qtyLots: 1_336,
      price: "2352.73",
      // 314.324728 × 196 / 1e6: we are the bid and the ask was the maker.
      fee: { amount: "0.061607646688", asset: "USDC" },
      order: { side: "BUY", venueOrderId: "562947905631053", venueClientOrderId: "7001011966", status: "UNKNOWN" },
    });
    const { slot: other, events: none } = slotOf(99);
    other.applyTrades([next], false);
    expect(none).toEqual([]);
  });

  it("takes each picture of positions whole: a market that is missing is flat", () => {
    const { slot, events } = slotOf(516);
    const [flat] = frameOf("positions", accountFixture("live-ws-account-all-positions-update-flat")).positions;
    if (flat === undefined) throw new Error("no row in the fixture");
    const held = { ...flat, position: "0.00500", avg_entry_price: "58300.0", position_value: "291.500000" };
    expect(slot.applyPositions([held], 1)).toMatchObject({ ok: true, differences: 0 });
    expect(slot.positions()).toMatchObject([{ qtyLots: 500, direction: "LONG" }]);
    expect(slot.applyPositions([], 2)).toMatchObject({ ok: true, differences: 1 });
    expect(slot.positions()).toEqual([]);
    expect(slot.applyPositions([held, { ...held, market_id: 0, position: "0.00001" }], 3)).toMatchObject({ ok: false });
    expect(slot.positions()).toEqual([]);
    expect(events).toEqual([{ kind: "positions" }, { kind: "positions" }]);
  });
});

import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeDetails, decodeSlowFrame, decodeTop } from "./decode-slow.js";
import type { VenuethreeSlowFrame } from "./wire.js";

const print = (change: Record<string, unknown> = {}): Record<string, unknown> => ({
  trade_id: 26412422124,
  type: "trade",
  market_id: 36,
  size: "0.7",
  price: "0.20382",
  is_maker_ask: true,
  timestamp: 1785358835916,
  ...change,
});

function trades(text: string): Extract<VenuethreeSlowFrame, { kind: "trades" }> {
  const frame = decodeSlowFrame(text);
  if (frame.kind !== "trades") throw new Error(frame.kind);
  return frame;
}

const tradeFrame = (list: unknown, liquidations: unknown = [], type = "update/trade"): string =>
  JSON.stringify({ channel: "trade:36", liquidation_trades: liquidations, nonce: 1, trades: list, type });

describe("trades", () => {
  it("takes both lists, and says whether it is the repetition of a subscribe", () => {
    const frame = trades(tradeFrame([print()], [print({ trade_id: 7, type: "liquidation" })], "subscribed/trade"));
    expect(frame).toMatchObject({ isSnapshot: true, marketId: 36, brokenCount: 0 });
    expect(frame.trades.map(({ trade_id, type }) => [trade_id, type])).toEqual([
      ["26412422124", "trade"],
      ["7", "liquidation"],
    ]);
  });

  it.each([null, undefined, []])("takes %j for no trades", (list) => {
    expect(trades(tradeFrame(list, list)).trades).toEqual([]);
  });

  it("keeps every digit of ids beyond 2^53, as numbers and as text", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 2n ** 63n - 1n }), fc.boolean(), fc.boolean(), (id, hasTwin, hasSpaces) => {
        const twin = hasTwin ? `,"trade_id_str":"${id}"` : "";
        // The bare number is wrong on purpose where the twin is there: the twin decides.
        const row = `{"trade_id":${hasTwin ? id + 1n : id}${twin},"ask_id":${id},"bid_id":${id},"type":"trade","size":"1","price":"2","is_maker_ask":false,"timestamp":3}`;
        const text = `{"channel":"trade:36","trades":[${row}],"type":"update/trade"}`;
        const frame = trades(hasSpaces ? text.replaceAll(":", " : ").replace("trade : 36", "trade:36") : text);
        expect(frame.trades[0]?.trade_id).toBe(String(id));
      }),
      { numRuns: 300, seed: 51 },
    );
  });

  it("counts a broken print and keeps the others", () => {
    const broken = [print({ price: 0.2 }), print({ is_maker_ask: "yes" }), null, print({ trade_id: -1 })];
    const frame = trades(tradeFrame([print(), ...broken, print({ trade_id: 2 })]));
    expect([frame.trades.length, frame.brokenCount]).toEqual([2, 4]);
  });
});

describe("statistics", () => {
  const row = { market_id: 1, mark_price: "64356.3", daily_price_change: -4.366136694955931, open_interest: "5" };

  it("takes one market's object and the map of changed markets alike", () => {
    const one = decodeSlowFrame(
      JSON.stringify({ channel: "market_stats:1", market_stats: row, timestamp: 9, type: "update/market_stats" }),
    );
    const all = decodeSlowFrame(
      JSON.stringify({
        channel: "market_stats:all",
        market_stats: { "1": row, "2": { market_id: "x" } },
        timestamp: 9,
        type: "subscribed/market_stats",
      }),
    );
    expect(one).toMatchObject({ kind: "stats", tsVenueMs: 9, brokenCount: 0 });
    expect(all).toMatchObject({ kind: "stats", brokenCount: 1 });
    if (one.kind !== "stats" || all.kind !== "stats") throw new Error("not statistics");
    expect(one.rows[0]).toMatchObject({
      daily_price_change: "-4.366136694955931",
      mid_price: null,
      open_interest: "5",
    });
    expect(all.rows).toEqual(one.rows);
  });
});

describe("control frames", () => {
  it.each<[string, VenuethreeSlowFrame]>([
    ['{"session_id":"b23c","type":"connected"}', { kind: "connected" }],
    ['{"type":"pong"}', { kind: "pong" }],
    ['{"type": "ping"}', { kind: "ping" }],
    ['{"type": "unsubscribed", "channel": "order_book:0"}', { kind: "unsubscribed", channel: "order_book:0" }],
    ['{"error":{"code":30005,"message":"Invalid Channel:  (marketId)"}}', { kind: "error", code: 30005, channel: "" }],
    [
      '{"error":{"code":30003,"message":"Already Subscribed to : order_book:0"}}',
      { kind: "error", code: 30003, channel: "order_book:0" },
    ],
    ['{"type":"error","code":30009,"message":"Too Many"}', { kind: "error", code: 30009, channel: "" }],
    [
      '{"channel":"height","height":301813997,"timestamp":1785252531621,"type":"update/height"}',
      { kind: "height", tsVenueMs: 1785252531621 },
    ],
    ['{"channel":"candle:0:1m","candles":[],"type":"update/candle"}', { kind: "ignored", channel: "candle" }],
    ['{"channel":"order_book","order_book":{},"type":"update/order_book"}', { kind: "malformed" }],
    ['{"type":"unsubscribed"}', { kind: "malformed" }],
    ['{"error":{"message":"no code"}}', { kind: "malformed" }],
    ['{"type":"surprise"}', { kind: "unknown" }],
    ['{"a":1}', { kind: "unknown" }],
    ["[1]", { kind: "malformed" }],
    ["<html>", { kind: "malformed" }],
    ["", { kind: "malformed" }],
  ])("reads %s", (text, frame) => {
    expect(decodeSlowFrame(text)).toEqual(frame);
  });

  it("never throws, whatever JSON it is given", () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom("trade", "market_stats", "height", "x"), (json, name) => {
        decodeSlowFrame(json);
        decodeSlowFrame(`{"channel":"${name}:1","type":"update/${name}","${name}":${json},"trades":${json}}`);
        decodeDetails(json);
        decodeTop(json, 5);
      }),
      { numRuns: 300, seed: 52 },
    );
  });
});

describe("orderBookDetails", () => {
  const market = {
    symbol: "ETH",
    market_id: 0,
    market_type: "perp",
    status: "active",
    supported_size_decimals: 4,
    supported_price_decimals: 2,
    min_initial_margin_fraction: 200,
  };
  const answer = (rows: unknown, code = 200): string => JSON.stringify({ code, order_book_details: rows });

  it("takes either name of the decimals, refuses two that differ, and omits spot", () => {
    const load = decodeDetails(
      answer([
        market,
        { ...market, symbol: "BTC", market_id: 1, price_decimals: 2, size_decimals: 4 },
        { ...market, symbol: "ODD", price_decimals: 3 },
        { ...market, symbol: "ETH/USDC", market_type: "spot" },
        7,
      ]),
    );
    expect(
      load?.markets.map(({ symbol, price_decimals, size_decimals }) => [symbol, price_decimals, size_decimals]),
    ).toEqual([
      ["ETH", 2, 4],
      ["BTC", 2, 4],
    ]);
    expect(load?.broken).toEqual(["ODD", ""]);
  });

  it("never takes the open interest of this answer, whose unit is another", () => {
    expect(decodeDetails(answer([{ ...market, open_interest: 93 }]))?.markets[0]?.stats.open_interest).toBeNull();
  });

  it.each([answer([market], 23000), answer(null), "{}", "<html>", "null"])("takes no answer out of %s", (body) => {
    expect(decodeDetails(body)).toBeNull();
  });
});

describe("orderBookOrders", () => {
  const order = (price: string, size: string): Record<string, unknown> => ({ price, remaining_base_amount: size });

  it("gathers the orders of the best price, and says whether all of them are there", () => {
    const body = JSON.stringify({
      code: 200,
      asks: [order("11", "1"), order("11", "2"), order("12", "9")],
      bids: [order("10", "3"), order("10", "4"), order("10", "5")],
    });
    expect(decodeTop(body, 3)).toEqual({
      ask: { price: "11", sizes: ["1", "2"], isWhole: true },
      bid: { price: "10", sizes: ["3", "4", "5"], isWhole: false },
    });
  });

  it("takes empty and null lists for empty sides", () => {
    expect(decodeTop('{"code":200,"asks":[],"bids":null}', 3)).toEqual({ ask: null, bid: null });
  });

  it.each(['{"code":200}', '{"code":200,"asks":[],"bids":[{"price":1}]}', '{"code":21,"asks":[],"bids":[]}', "x"])(
    "takes no answer out of %s",
    (body) => {
      expect(decodeTop(body, 3)).toBeNull();
    },
  );
});

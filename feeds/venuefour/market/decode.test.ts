import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeJson } from "../../shared/room/wire-fields.js";
import { decodeBook, decodeFrame, decodeMarkets, decodePrices, decodeRestTrades } from "./decode.js";
import { frameFixture, frameFixtures, readFixture } from "../fixtures/load.js";

const decode = (value: unknown) => decodeFrame(Buffer.from(typeof value === "string" ? value : JSON.stringify(value)));
const PRICE = {
  funding: "0.0000125",
  mark: "63510.1",
  mid: "63511",
  next_funding: "0.000015",
  open_interest: "12.5",
  oracle: "63509",
  symbol: "BTC",
  timestamp: 1_780_919_437_000,
  volume_24h: "1000.5",
  yesterday_price: "63000",
};

describe("frames", () => {
  it("of the recording decode as their kind", () => {
    const kinds = frameFixtures().map(({ name, text }) => [name.replace(/-\d+$/, ""), decode(text).kind].join(" "));
    expect([...new Set(kinds)]).toEqual([
      "book book",
      "bbo bbo",
      "trades trades",
      "pong pong",
      "doc-bbo bbo",
      "doc-book book",
      "doc-trades trades",
      "echo subscribed",
    ]);
  });

  it("of trades carry history id, taker side and figures", () => {
    expect(decode(frameFixture("trades"))).toEqual({
      kind: "trades",
      badCount: 0,
      trades: [{ s: "BTC", p: "63508", a: "0.00001", d: "close_short", h: 68_790_314, t: 1_780_919_457_443 }],
    });
  });

  it("of trades lose only the rows that can not be read", () => {
    const good = { s: "BTC", p: "1", a: "1", d: "open_long", h: 1, t: 1 };
    const frame = decode({ channel: "trades", data: [good, { ...good, d: "settle" }, { ...good, p: "-1" }, 5] });
    expect(frame).toMatchObject({ kind: "trades", badCount: 3, trades: [{ h: 1 }] });
  });

  it("of prices may be partial, in rows and in fields", () => {
    const frame = decode({
      channel: "prices",
      data: [PRICE, { symbol: "ETH", timestamp: 5, mark: "3000" }, { mark: "1" }],
    });
    expect(frame).toMatchObject({
      kind: "prices",
      badCount: 1,
      prices: [PRICE, { symbol: "ETH", mark: "3000", mid: null }],
    });
  });

  it("that echo a subscription name its channel and symbol, in whatever order and with whatever else", () => {
    expect(decode({ data: { agg_level: 1, source: "book", symbol: "kBONK" }, channel: "subscribe" })).toEqual({
      kind: "subscribed",
      source: "book",
      symbol: "kBONK",
    });
    expect(decode({ channel: "subscribe", data: { source: "prices" } })).toEqual({
      kind: "subscribed",
      source: "prices",
      symbol: null,
    });
  });

  it("of errors carry code and text, with and without the rest", () => {
    expect(decode({ code: 400, err: "Invalid request", t: 1 })).toEqual({
      kind: "error",
      code: 400,
      text: "Invalid request",
    });
    expect(decode({ code: 429, id: null })).toEqual({ kind: "error", code: 429, text: "" });
  });

  it("of other channels are ignored where known, and drift where not", () => {
    expect(decode({ channel: "account_positions", data: [], li: 5 }).kind).toBe("ignored");
    expect(decode({ channel: "unsubscribe", data: {} }).kind).toBe("ignored");
    expect(decode({ code: 200, data: {}, id: "x", type: "create_order" }).kind).toBe("ignored");
    expect(decode({ channel: "news", data: {} })).toEqual({ kind: "unknown", channel: "news" });
  });

  it.each([
    ["", "", null],
    ["null", "", null],
    ["[]", "", null],
    ["{", "", null],
    ['{"channel":5}', "", null],
    ['{"channel":"book"}', "book", null],
    ['{"channel":"book","data":{"s":"BTC","t":1,"l":[[]]}}', "book", "BTC"],
    ['{"channel":"book","data":{"s":"BTC","t":-1,"l":[[],[]]}}', "book", "BTC"],
    ['{"channel":"book","data":{"s":"BTC","t":1,"l":[[{"p":"1e400","a":"1"}],[]]}}', "book", "BTC"],
    ['{"channel":"bbo","data":{"s":"ETH","t":1,"b":"1"}}', "bbo", "ETH"],
    ['{"channel":"trades","data":{}}', "trades", null],
    ['{"channel":"prices"}', "prices", null],
    ['{"channel":"subscribe","data":{}}', "subscribe", null],
  ])("that do not fit are malformed: %j", (text, channel, symbol) => {
    expect(decode(text)).toEqual({ kind: "malformed", channel, symbol });
  });

  it("never throw, whatever the bytes", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array(),
          fc.json().map((text) => Buffer.from(text)),
          fc
            .tuple(fc.constantFrom("book", "bbo", "trades", "prices", "subscribe", "x"), fc.json())
            .map(([channel, data]) => Buffer.from(`{"channel":"${channel}","data":${data}}`)),
        ),
        (bytes) => {
          expect(decodeFrame(bytes).kind).toBeTypeOf("string");
        },
      ),
    );
  });
});

describe("REST bodies", () => {
  const dataOf = (file: string): unknown => (JSON.parse(readFixture(file)) as { data: unknown }).data;

  it("give the book, which recorders may have turned to text", () => {
    const book = decodeBook(dataOf("book.json"));
    expect([book.s, book.t, book.l[0].length, book.l[1].length]).toEqual(["BTC", 1_780_919_436_044, 10, 10]);
    expect(decodeBook({ s: "BTC", t: "1769553881390", l: [[{ p: "1", a: "2", n: "1" }], []] })).toMatchObject({
      t: 1_769_553_881_390,
      l: [[{ p: "1", a: "2" }], []],
    });
  });

  it("give the market list and lose only unreadable rows of it", () => {
    const { markets, badCount } = decodeMarkets(dataOf("info.json"));
    expect([markets.length, badCount]).toEqual([17, 0]);
    expect(markets.find(({ symbol }) => symbol === "kPEPE")).toEqual({
      symbol: "kPEPE",
      instrument_type: "perpetual",
      tick_size: "0.000001",
      lot_size: "1",
      max_leverage: 10,
      min_order_size: "10",
    });
    const [first] = dataOf("info.json") as object[];
    expect(decodeMarkets([first, { symbol: "X" }, null])).toMatchObject({ badCount: 2 });
    expect(decodeJson('[{"symbol":"X"}]', decodeMarkets)).toMatchObject({ ok: false });
    expect(decodeJson("[]", decodeMarkets)).toMatchObject({ ok: false });
  });

  it("give trades and prices", () => {
    expect(decodeRestTrades(dataOf("doc-trades.json"))).toEqual([{ price: "104721", created_at: 1_765_006_315_306 }]);
    expect(decodePrices([PRICE, {}])).toEqual([PRICE]);
  });
});

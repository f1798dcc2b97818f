import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { BOOK_EMPTY, BOOK_LIVE } from "../../../engine/market/book.js";
import { ClockOffset } from "../../shared/book/clock-offset.js";
import { ConnectionBudget, MessagePacer } from "../../shared/net/connection-budget.js";
import { FakeNetwork } from "../../shared/test/fake-connector.js";
import { decodeDetails, type DetailsAnswer } from "./decode-slow.js";
import { VenuethreeMarkets } from "./listing.js";
import { VenuethreeRest } from "./rest.js";
import { MarketStream } from "./stream.js";
import { TinyVenue } from "../test/tiny-venue.js";

type Row = Record<string, unknown>;

function details(change: (rows: Row[]) => void = () => {}): DetailsAnswer {
  const text = readFileSync(new URL("../fixtures/order-book-details.json", import.meta.url), "utf8");
  const body = JSON.parse(text) as { order_book_details: Row[] };
  for (const row of body.order_book_details) {
    Object.assign(row, {
      price_decimals: 1,
      supported_price_decimals: 1,
      size_decimals: 1,
      supported_size_decimals: 1,
    });
  }
  change(body.order_book_details);
  const answer = decodeDetails(JSON.stringify(body));
  if (answer === null) throw new Error("no answer");
  return answer;
}

function rowOf(rows: Row[], symbol: string): Row {
  const row = rows.find((candidate) => candidate["symbol"] === symbol);
  if (row === undefined) throw new Error(symbol);
  return row;
}

function setUp(symbols: "all" | readonly string[] = "all", onRescaled: () => void = () => {}) {
  const clock = new VirtualClock();
  const network = new FakeNetwork();
  const venue = new TinyVenue(clock);
  const clockOffset = new ClockOffset(clock);
  const stream = new MarketStream({
    wsUrl: "ws://venue/stream",
    connector: network.connector,
    clock,
    random: createSeededRandom(3),
    logger: silentLogger,
    rest: new VenuethreeRest(venue, 1),
    clockOffset,
    budget: new ConnectionBudget(clock, { maxConnections: 4, connectsPerMinute: 60 }),
    messages: new MessagePacer(clock, 170, 60_000),
  });
  const fees = { takerFeeMilliBps: 0, makerFeeMilliBps: 0 };
  const markets = new VenuethreeMarkets({
    clock,
    logger: silentLogger,
    clockOffset,
    stream,
    symbols,
    fees,
    onRescaled,
  });
  const pass = async (): Promise<void> => {
    for (let step = 0; step < 20; step++) {
      await clock.advanceAsync(50);
      venue.serve(network.last);
    }
  };
  return { network, stream, markets, pass, venue };
}

describe("VenuethreeMarkets", () => {
  it("knows every contract, makes markets of the wanted ones alone, and keeps those that leave the list", () => {
    const { markets } = setUp(["BTC"]);
    const all = details();
    markets.adopt(all);
    const listed = [...markets.instruments.keys()].sort();
    expect([[...markets.bySymbol.keys()], listed.length]).toEqual([["BTC"], all.markets.length]);
    expect(listed).toContain("ETH");
    markets.adopt(
      details((rows) => {
        rows.splice(rows.indexOf(rowOf(rows, "ETH")), 1);
      }),
    );
    expect(markets.instruments.get("ETH")).toMatchObject({ symbol: "ETH" });
    expect([...markets.bySymbol.keys()]).toEqual(["BTC"]);
  });

  it("lists once: the same list again replaces nothing", async () => {
    const { markets, network, pass } = setUp();
    markets.adopt(details());
    network.last.open();
    await pass();
    const before = [...markets.bySymbol.values()];
    expect(before.map(({ book }) => book.state)).toEqual([BOOK_LIVE, BOOK_LIVE]);
    const channelsSent = (): number => network.last.sent.filter((text) => text.includes("channel")).length;
    const sentCount = channelsSent();
    markets.adopt(details());
    await pass();
    expect([...markets.bySymbol.values()].every((market, index) => market === before[index])).toBe(true);
    expect([channelsSent(), network.connections.length]).toEqual([sentCount, 1]);
  });

  it("asks for the most traded books first", async () => {
    const { markets, network, pass } = setUp();
    markets.adopt(
      details((rows) => {
        rowOf(rows, "BTC")["daily_quote_token_volume"] = 9e9;
      }),
    );
    network.last.open();
    await pass();
    expect(network.last.sent.slice(1, 3).map((text) => text.includes("order_book/1"))).toEqual([true, false]);
  });

  it.each([
    ["halted", (rows: Row[]) => void Object.assign(rowOf(rows, "BTC"), { status: "inactive" })],
    ["left out", (rows: Row[]) => void rows.splice(rows.indexOf(rowOf(rows, "BTC")), 1)],
  ])("keeps a market that is %s, halted, and its book is not LIVE again", async (_name, change) => {
    const { markets, network, pass } = setUp();
    markets.adopt(details());
    network.last.open();
    await pass();
    const btc = markets.bySymbol.get("BTC");
    const other = markets.bySymbol.get("ETH");
    expect(btc?.book.state).toBe(BOOK_LIVE);
    markets.adopt(details(change));
    expect(btc?.book.state).toBe(BOOK_EMPTY);
    await pass();
    expect([markets.bySymbol.get("BTC"), markets.driftCount]).toEqual([btc, 0]);
    expect([btc?.instrument.status, btc?.book.state]).toEqual(["HALTED", BOOK_EMPTY]);
    expect([markets.bySymbol.get("ETH"), other?.book.state]).toEqual([other, BOOK_LIVE]);
  });

  it.each([
    [
      "printed with other decimals",
      (rows: Row[]) => void Object.assign(rowOf(rows, "BTC"), { price_decimals: 2, supported_price_decimals: 2 }),
    ],
    ["given another number", (rows: Row[]) => void Object.assign(rowOf(rows, "BTC"), { market_id: 77 })],
  ])("replaces a market that is %s, and its old book is no longer LIVE", async (_name, change) => {
    const { markets, network, pass } = setUp();
    markets.adopt(details());
    network.last.open();
    await pass();
    const old = markets.bySymbol.get("BTC");
    const other = markets.bySymbol.get("ETH");
    markets.adopt(details(change));
    expect(old?.book.state).toBe(BOOK_EMPTY);
    await pass();
    const now = markets.bySymbol.get("BTC");
    expect(now).not.toBe(old);
    expect([now?.instrument.status, markets.driftCount]).toEqual(["TRADING", 1]);
    expect([old?.book.state, now?.book.state]).toEqual([BOOK_EMPTY, BOOK_LIVE]);
    expect([markets.bySymbol.get("ETH"), other?.book.state]).toEqual([other, BOOK_LIVE]);
  });

  it("takes other minimums and another leverage without losing the book", async () => {
    const { markets, network, pass } = setUp();
    markets.adopt(details());
    network.last.open();
    await pass();
    const btc = markets.bySymbol.get("BTC");
    markets.adopt(
      details((rows) => {
        Object.assign(rowOf(rows, "BTC"), { min_initial_margin_fraction: 1_000, min_quote_amount: "25" });
      }),
    );
    expect([markets.bySymbol.get("BTC"), btc?.book.state]).toEqual([btc, BOOK_LIVE]);
    expect(btc?.instrument).toMatchObject({ maxLeverage: 10, restingMinimum: { notional: "25" } });
    expect(markets.instruments.get("BTC")).toBe(btc?.instrument);
  });

  it.each([
    ["names no contract", (rows: Row[]) => void rows.splice(0)],
    ["has a row that cannot be named", (rows: Row[]) => void rows.splice(rows.indexOf(rowOf(rows, "BTC")), 1, {})],
    [
      "has a statistic that cannot be read",
      (rows: Row[]) => void Object.assign(rowOf(rows, "BTC"), { daily_price_change: {} }),
    ],
    ["has a row that is no row", (rows: Row[]) => void rows.splice(rows.indexOf(rowOf(rows, "BTC")), 1, null as never)],
  ])("takes nothing for delisted by a list that %s", async (_name, change) => {
    const { markets, network, pass } = setUp(["BTC"]);
    markets.adopt(details());
    network.last.open();
    await pass();
    const before = markets.bySymbol.get("BTC");
    expect(before?.book.state).toBe(BOOK_LIVE);
    markets.adopt(details(change));
    await pass();
    expect(markets.bySymbol.get("BTC")).toBe(before);
    expect([before?.book.state, before?.instrument.status]).toEqual([BOOK_LIVE, "TRADING"]);
    expect(markets.instruments.get("ETH")?.status).toBe("TRADING");
  });

  it("stays with the contract of a symbol while it is listed, whatever else is", () => {
    const { markets } = setUp(["BTC"]);
    markets.adopt(details());
    const halted = (rows: Row[]): void => {
      rows.push({ ...rowOf(rows, "BTC"), symbol: "1000BTC", market_id: 99 });
      Object.assign(rowOf(rows, "BTC"), { status: "inactive" });
    };
    markets.adopt(details(halted));
    expect(markets.instruments.get("BTC")).toMatchObject({ nativeSymbol: "BTC", status: "HALTED" });
    markets.adopt(
      details((rows) => {
        halted(rows);
        rows.splice(rows.indexOf(rowOf(rows, "BTC")), 1);
      }),
    );
    expect(markets.instruments.get("BTC")).toMatchObject({ nativeSymbol: "1000BTC", status: "TRADING" });
  });

  it("halts a contract that is not followed when it leaves the list", () => {
    const { markets } = setUp(["BTC"]);
    markets.adopt(details());
    markets.adopt(details((rows) => void rows.splice(rows.indexOf(rowOf(rows, "ETH")), 1)));
    expect(markets.instruments.get("ETH")?.status).toBe("HALTED");
  });

  it.each([
    ["sizes with other decimals", { size_decimals: 2, supported_size_decimals: 2 }, 1],
    ["another number", { market_id: 77 }, 1],
    ["another leverage", { min_initial_margin_fraction: 1_000 }, 0],
  ])("says that positions mean something else when a contract has %s", (_name, change, expected) => {
    let count = 0;
    const { markets } = setUp("all", () => count++);
    markets.adopt(details());
    expect(count).toBe(0);
    markets.adopt(details((rows) => void Object.assign(rowOf(rows, "BTC"), change)));
    expect(count).toBe(expected);
  });

  it("brings a halted market back", async () => {
    const { markets, network, pass } = setUp();
    const halt = (rows: Row[]): void => void Object.assign(rowOf(rows, "BTC"), { status: "inactive" });
    markets.adopt(details(halt));
    network.last.open();
    await pass();
    markets.adopt(details());
    await pass();
    expect(markets.bySymbol.get("BTC")?.book.state).toBe(BOOK_LIVE);
  });

  it("keeps the figures of the day current from the list, and streamed prices as streamed", async () => {
    const { markets, network, pass, venue } = setUp();
    markets.adopt(details());
    network.last.open();
    await pass();
    network.last.receive(venue.stats(0, { last_trade_price: "2730.0", mark_price: "2731.0" }));
    markets.adopt(
      details((rows) => Object.assign(rowOf(rows, "ETH"), { daily_price_high: 2999.5, daily_price_change: 5 })),
    );
    expect(markets.bySymbol.get("ETH")?.ticker).toMatchObject({
      lastPrice: "2730.0",
      markPrice: "2731.0",
      high24h: "2999.5",
      prevDayPrice: "2600",
    });
  });

  it("takes only the symbols asked for", () => {
    const { markets } = setUp(["BTC"]);
    markets.adopt(details());
    expect([...markets.bySymbol.keys()]).toEqual(["BTC"]);
  });
});

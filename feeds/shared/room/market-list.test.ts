import { describe, expect, it } from "vitest";
import { LISTED_BTC } from "../../../engine/domain/test/instruments.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import type { LogFields, Logger } from "../../../engine/domain/logger.js";
import { BOOK_EMPTY, BOOK_LIVE } from "../../../engine/market/book.js";
import type { Market } from "../../../engine/market/market.js";
import { MarketList, type MarketListOptions, mostTradedFirst, wholeList } from "./market-list.js";

const TIERS = { deepTier: false, maxBookAgeMs: 1_000, maxDeepAgeMs: 0 };

function contract(symbol: string, change: Partial<Instrument> = {}): Instrument {
  return { ...LISTED_BTC.venuetwo, symbol, nativeSymbol: `${symbol}USDT`, ...change };
}

/** What the room does around the list: notes what it is asked to do, and empties the book of what is not streamed. */
function setUp(change: Partial<MarketListOptions> = {}) {
  const events: string[] = [];
  const logged: (readonly [string, LogFields | undefined])[] = [];
  const logger: Logger = {
    debug: () => undefined,
    info: () => undefined,
    warn: (event, fields) => void logged.push([event, fields]),
    error: () => undefined,
  };
  const list = new MarketList({
    venue: "venuetwo",
    logger,
    market: TIERS,
    unstream: (market) => {
      events.push(`unstream ${market.instrument.nativeSymbol} ${market.instrument.status}`);
      market.book.clear();
    },
    onRescaled: () => void events.push("rescaled"),
    ...change,
  });
  const adopt = (instruments: readonly Instrument[], unread: readonly string[] = []): void =>
    list.adopt(wholeList(new Map(instruments.map((one) => [one.symbol, one])), new Set(unread), unread));
  const market = (symbol: string): Market => {
    const known = list.bySymbol.get(symbol);
    if (known === undefined) throw new Error(`no market of ${symbol}`);
    return known;
  };
  return { list, adopt, market, events, logged };
}

function goLive({ book }: Market): void {
  book.beginSnapshot();
  book.applyBid(100, 1);
  book.applyAsk(110, 1);
  book.commit(1, 1, 1);
}

describe("a list of markets", () => {
  it("makes a market of each contract once, with the very instrument of the other map", () => {
    const { adopt, events, list, market } = setUp();
    adopt([contract("BTC"), contract("ETH", { status: "HALTED" })]);
    const [btc, eth] = [market("BTC"), market("ETH")];
    adopt([contract("ETH", { status: "HALTED" }), contract("BTC")]);
    expect([market("BTC"), market("ETH")]).toEqual([btc, eth]);
    expect([market("BTC") === btc, list.instruments.get("BTC") === btc.instrument]).toEqual([true, true]);
    expect([events, list.driftCount]).toEqual([[], 0]);
  });

  it("knows the contracts that are not wanted, keeps them up with the list, and makes no market of them", () => {
    const { adopt, list } = setUp({ symbols: ["BTC"] });
    adopt([contract("BTC"), contract("ETH")]);
    adopt([contract("BTC")]);
    expect([...list.bySymbol.keys()]).toEqual(["BTC"]);
    expect(list.instruments.get("ETH")?.status).toBe("HALTED");
  });
});

describe("a rule that changes", () => {
  it("is restated in place on the same scale: the book stays LIVE", () => {
    const { adopt, events, list, market } = setUp();
    adopt([contract("BTC")]);
    const btc = market("BTC");
    goLive(btc);
    adopt([contract("BTC", { minQtyLots: 5, maxLeverage: 20, minNotional: "25" })]);
    expect([market("BTC") === btc, btc.book.state]).toEqual([true, BOOK_LIVE]);
    expect(btc.instrument).toMatchObject({ minQtyLots: 5, maxLeverage: 20, minNotional: "25" });
    expect(list.instruments.get("BTC")).toBe(btc.instrument);
    expect([events, list.driftCount]).toEqual([[], 0]);
  });

  it.each<[string, Partial<Instrument>]>([
    ["other price decimals", { priceDecimals: 3 }],
    ["other size decimals", { qtyDecimals: 4 }],
    ["another step", { priceStepTicks: 5 }],
    ["another multiplier", { multiplierExp10: 3 }],
    ["another number", { nativeId: 7 }],
    ["another name", { nativeSymbol: "BTCUSD" }],
  ])(
    "makes another market of %s: the old book ends LIVE first, and what was counted is reported as stale",
    (_what, change) => {
      const { adopt, events, list, market } = setUp();
      adopt([contract("BTC")]);
      const old = market("BTC");
      goLive(old);
      adopt([contract("BTC", change)]);
      expect(market("BTC")).not.toBe(old);
      expect([old.book.state, market("BTC").book.state]).toEqual([BOOK_EMPTY, BOOK_EMPTY]);
      expect(old.instrument).toMatchObject({ nativeSymbol: "BTCUSDT", priceDecimals: 2 });
      expect(list.instruments.get("BTC")).toBe(market("BTC").instrument);
      expect([events, list.driftCount]).toEqual([["unstream BTCUSDT TRADING", "rescaled"], 1]);
    },
  );

  it("reports another scale also where no market is made of the contract", () => {
    const { adopt, events, list } = setUp({ symbols: [] });
    adopt([contract("BTC")]);
    adopt([contract("BTC", { qtyDecimals: 4 })]);
    expect([events, list.driftCount, list.bySymbol.size]).toEqual([["rescaled"], 1, 0]);
  });

  it("that halts a market ends its streams and keeps it in the map, and one that reopens it brings it back", () => {
    const { adopt, events, market } = setUp();
    adopt([contract("BTC")]);
    const btc = market("BTC");
    goLive(btc);
    adopt([contract("BTC", { status: "HALTED" })]);
    expect([market("BTC") === btc, btc.instrument.status, btc.book.state]).toEqual([true, "HALTED", BOOK_EMPTY]);
    adopt([contract("BTC")]);
    expect([market("BTC") === btc, btc.instrument.status]).toEqual([true, "TRADING"]);
    expect(events).toEqual(["unstream BTCUSDT HALTED"]);
  });
});

describe("a list that lacks contracts", () => {
  it("halts what it omits, keeps it known, and takes its return on another scale for no drift", () => {
    const { adopt, events, list, market } = setUp();
    adopt([contract("BTC"), contract("ETH")]);
    adopt([contract("ETH")]);
    expect([market("BTC").instrument.status, list.instruments.get("BTC")?.status]).toEqual(["HALTED", "HALTED"]);
    expect(market("ETH").instrument.status).toBe("TRADING");
    adopt([contract("ETH")]);
    adopt([contract("ETH"), contract("BTC", { priceDecimals: 3 })]);
    expect(market("BTC").instrument).toMatchObject({ status: "TRADING", priceDecimals: 3 });
    expect([events, list.driftCount]).toEqual([["unstream BTCUSDT HALTED", "unstream BTCUSDT HALTED", "rescaled"], 0]);
  });

  it("halts nothing where it is empty, or holds a row that cannot be named", () => {
    const { adopt, events, market } = setUp();
    adopt([contract("BTC"), contract("ETH")]);
    adopt([]);
    adopt([contract("ETH")], [""]);
    expect([market("BTC").instrument.status, events]).toEqual(["TRADING", []]);
  });

  it("halts a contract whose row cannot be read, and gives its symbol to no other", () => {
    const { adopt, market } = setUp();
    adopt([contract("BTC"), contract("ETH")]);
    adopt([contract("BTC", { nativeSymbol: "BTCUSD" }), contract("ETH")], ["BTCUSDT"]);
    expect(market("BTC").instrument).toMatchObject({ nativeSymbol: "BTCUSDT", status: "HALTED" });
    adopt([contract("BTC", { nativeSymbol: "BTCUSD" }), contract("ETH")]);
    expect(market("BTC").instrument).toMatchObject({ nativeSymbol: "BTCUSD", status: "TRADING" });
  });

  it("does not change what it does not name, where that is how the venue's lists are", () => {
    const { list, market } = setUp();
    const whole = new Map([contract("BTC"), contract("ETH"), contract("SOL")].map((one) => [one.symbol, one]));
    list.adopt(wholeList(whole, new Set(), []));
    list.adopt({
      listed: new Map([["ETH", contract("ETH")]]),
      mayHold: () => true,
      isGone: ({ symbol }) => symbol === "SOL",
      skipped: [],
    });
    expect(["BTC", "ETH", "SOL"].map((symbol) => market(symbol).instrument.status)).toEqual([
      "TRADING",
      "TRADING",
      "HALTED",
    ]);
  });
});

describe("what is streamed of a list", () => {
  function streaming(limit: number) {
    const parts = setUp();
    const streamed = new Set<string>();
    const stream = {
      get streamedCount() {
        return streamed.size;
      },
      streams: (nativeSymbol: string) => streamed.has(nativeSymbol),
      add: (market: Market) => void streamed.add(market.instrument.nativeSymbol),
    };
    return {
      ...parts,
      streamed,
      stream: (...symbols: string[]) => parts.list.streamWithin(limit, stream, symbols.map(parts.market)),
    };
  }

  it("are trading markets in the order given, within the limit; who was there first stays", () => {
    const { adopt, stream, streamed } = streaming(2);
    adopt([contract("A"), contract("B", { status: "HALTED" }), contract("C"), contract("D")]);
    stream("D", "B", "A", "C");
    expect([...streamed]).toEqual(["DUSDT", "AUSDT"]);
    stream("C", "A", "D");
    expect([...streamed]).toEqual(["DUSDT", "AUSDT"]);
    streamed.delete("DUSDT");
    stream("C", "A", "D");
    expect([...streamed]).toEqual(["AUSDT", "CUSDT"]);
  });

  it("is most traded first, and in the list's order where volumes are the same or not known", () => {
    const { adopt, list } = setUp();
    adopt([contract("A"), contract("B"), contract("C"), contract("D")]);
    const volumes: Record<string, string | null> = { B: "10", C: "900.5", D: null };
    const sorted = mostTradedFirst(list.bySymbol.values(), ({ symbol }) => volumes[symbol]);
    expect(sorted.map(({ instrument }) => instrument.symbol)).toEqual(["C", "B", "A", "D"]);
  });

  it("is logged when it changes, and so are rows and names of no contract", () => {
    const { adopt, list, logged, stream } = streaming(1);
    const find = (name: string): Market | undefined => list.bySymbol.get(name);
    for (let refresh = 0; refresh < 2; refresh++) {
      adopt([contract("A"), contract("B")], ["XUSDT"]);
      stream("A", "B");
      expect(list.named(["B", "NOPE"], find).map(({ instrument }) => instrument.symbol)).toEqual(["B"]);
    }
    expect(logged).toEqual([
      ["venuetwo.instruments.skipped", { count: 1, names: "XUSDT" }],
      ["venuetwo.markets.left-out", { count: 1, names: "BUSDT" }],
      ["venuetwo.symbols.unlisted", { count: 1, names: "NOPE" }],
    ]);
    adopt([contract("A"), contract("B")]);
    adopt([contract("A"), contract("B")], ["XUSDT"]);
    expect(logged).toHaveLength(4);
  });
});

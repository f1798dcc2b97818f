import { beforeEach, describe, expect, it } from "vitest";
import type { Instrument } from "../../engine/domain/instrument.js";
import { silentLogger } from "../../engine/domain/logger.js";
import { createSeededRandom } from "../../engine/domain/random.js";
import { VirtualClock } from "../../engine/domain/virtual-clock.js";
import { BOOK_INVALID, BOOK_LIVE, BOOK_SYNCING, INVALID_DISCONNECTED, INVALID_GAP } from "../../engine/market/book.js";
import { ageMs } from "../../engine/market/freshness.js";
import { createMarket, type Market } from "../../engine/market/market.js";
import { ClockOffset } from "../shared/clock-offset.js";
import { ConnectionBudget } from "../shared/connection-budget.js";
import type { HttpRequest, HttpResult, VenueHttp } from "../shared/http.js";
import { type FakeConnection, FakeNetwork } from "../shared/test/fake-connector.js";
import { MarketStream } from "./stream.js";
import type { StreamHostLayout } from "./stream-plan.js";
import { normalizeSymbol } from "./symbols.js";

const PRICE_DECIMALS = 1;

function instrument(base: string): Instrument {
  const made = normalizeSymbol({
    symbol: `${base}USDT`,
    contractType: "PERPETUAL",
    status: "TRADING",
    baseAsset: base,
    quoteAsset: "USDT",
    pricePrecision: PRICE_DECIMALS,
    quantityPrecision: 3,
    filters: [
      { filterType: "PRICE_FILTER", minPrice: "0.1", maxPrice: "1000000", tickSize: "0.1" },
      { filterType: "LOT_SIZE", stepSize: "0.001", maxQty: "1000", minQty: "0.001" },
    ],
  });
  if (typeof made === "string") throw new Error(made);
  return made;
}

/** A venue of one price level a side, in ids that jump; answers REST and makes frames. */
class TinyVenue implements VenueHttp {
  readonly requests: HttpRequest[] = [];
  readonly #clock: VirtualClock;
  readonly lastIds = new Map<string, number>();
  /** Best bid in ticks by symbol. */
  readonly bids = new Map<string, number>();
  status = 200;
  isUnreachable = false;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  lastId(symbol: string): number {
    return this.lastIds.get(symbol) ?? 1_000;
  }

  bid(symbol: string): string {
    return ((this.bids.get(symbol) ?? 1_000) / 10).toFixed(1);
  }

  ask(symbol: string): string {
    return (((this.bids.get(symbol) ?? 1_000) + 5) / 10).toFixed(1);
  }

  /** Moves the market and makes the diff of it. */
  diff(symbol: string, bidTicks: number): string {
    const prevId = this.lastId(symbol);
    const [oldBid, oldAsk] = [this.bid(symbol), this.ask(symbol)];
    this.bids.set(symbol, bidTicks);
    this.lastIds.set(symbol, prevId + 7);
    const b = [
      [oldBid, "0.000"],
      [this.bid(symbol), "2.000"],
    ];
    const a = [
      [oldAsk, "0.000"],
      [this.ask(symbol), "3.000"],
    ];
    const data = {
      e: "depthUpdate",
      E: this.#clock.wallMs(),
      T: 1,
      s: symbol,
      U: prevId + 3,
      u: prevId + 7,
      pu: prevId,
      b,
      a,
    };
    return JSON.stringify({ stream: `${symbol.toLowerCase()}@depth@100ms`, data });
  }

  touch(symbol: string, id: number, bid: string, ask: string): string {
    const data = {
      e: "bookTicker",
      u: id,
      s: symbol,
      b: bid,
      B: "2.000",
      a: ask,
      A: "3.000",
      T: 1,
      E: this.#clock.wallMs(),
    };
    return JSON.stringify({ stream: `${symbol.toLowerCase()}@bookTicker`, data });
  }

  request(request: HttpRequest): Promise<HttpResult> {
    this.requests.push(request);
    if (this.isUnreachable) return Promise.resolve({ kind: "noResponse", reason: "TIMEOUT" });
    const symbol = /symbol=([^&]+)/.exec(request.path)?.[1];
    const touchRow = (name: string) => ({
      symbol: name,
      bidPrice: this.bid(name),
      bidQty: "2.000",
      askPrice: this.ask(name),
      askQty: "3.000",
      time: 1,
    });
    const body = request.path.includes("/depth")
      ? {
          lastUpdateId: this.lastId(symbol ?? ""),
          E: 1,
          T: 1,
          bids: [[this.bid(symbol ?? ""), "2.000"]],
          asks: [[this.ask(symbol ?? ""), "3.000"]],
        }
      : symbol === undefined
        ? ["BTCUSDT", "ETHUSDT"].map(touchRow)
        : touchRow(symbol);
    const sentAtMs = this.#clock.wallMs();
    return Promise.resolve({
      kind: "response",
      status: this.status,
      headers: {},
      body: JSON.stringify(body),
      sentAtMs,
      receivedAtMs: sentAtMs,
    });
  }

  count(part: string): number {
    return this.requests.filter(({ path }) => path.includes(part)).length;
  }
}

interface Message {
  readonly method: string;
  readonly params: readonly string[];
  readonly id: number;
}

function messages(connection: FakeConnection): readonly Message[] {
  return connection.sent.map((text) => JSON.parse(text) as Message);
}

let clock: VirtualClock;
let network: FakeNetwork;
let venue: TinyVenue;
let stream: MarketStream;
let btc: Market;
let eth: Market;

function setUp(bases: readonly string[] = ["BTC", "ETH"], layout: StreamHostLayout = "single"): readonly Market[] {
  clock = new VirtualClock();
  network = new FakeNetwork();
  venue = new TinyVenue(clock);
  const markets = bases.map((base) =>
    createMarket(instrument(base), { deepTier: false, maxBookAgeMs: 2_000, maxDeepAgeMs: 0 }),
  );
  stream = new MarketStream(
    {
      wsUrl: "ws://venue",
      layout,
      connector: network.connector,
      clock,
      random: createSeededRandom(5),
      logger: silentLogger,
      http: venue,
      clockOffset: new ClockOffset(clock),
      budget: new ConnectionBudget(clock, { maxConnections: 64, connectsPerMinute: 300 }),
    },
    markets,
  );
  [btc, eth] = [markets[0] as Market, (markets[1] ?? markets[0]) as Market];
  return markets;
}

async function acknowledgeAll(connection: FakeConnection): Promise<void> {
  connection.open();
  await clock.advanceAsync(3_000);
  for (const { id } of messages(connection)) connection.receive(JSON.stringify({ result: null, id }));
  await clock.advanceAsync(10);
}

/** Connected, subscribed, both books LIVE. */
async function goLive(): Promise<FakeConnection> {
  stream.start();
  const connection = network.last;
  await acknowledgeAll(connection);
  for (const symbol of ["BTCUSDT", "ETHUSDT"]) connection.receive(venue.diff(symbol, 1_000));
  await clock.advanceAsync(1_500);
  expect([btc.book.state, eth.book.state]).toEqual([BOOK_LIVE, BOOK_LIVE]);
  return connection;
}

beforeEach(() => {
  setUp();
});

describe("subscribing", () => {
  it("asks for the five streams of each market on the combined path", async () => {
    stream.start();
    expect(network.last.url).toBe("ws://venue/stream");
    network.last.open();
    await clock.advanceAsync(1_000);
    expect(
      messages(network.last)
        .flatMap(({ params }) => params)
        .sort(),
    ).toEqual(
      ["btcusdt", "ethusdt"]
        .flatMap((name) =>
          ["aggTrade", "bookTicker", "depth@100ms", "markPrice@1s", "ticker"].map((kind) => `${name}@${kind}`),
        )
        .sort(),
    );
  });

  it("puts at most 200 streams on a connection and sends at most 10 messages in any second", async () => {
    setUp(Array.from({ length: 90 }, (_, index) => `COIN${index}`));
    stream.start();
    expect(network.connections.length).toBe(3);
    const sentAt: number[] = [];
    for (const connection of network.connections) {
      const send = connection.send.bind(connection);
      connection.send = (text) => {
        if (connection === network.connections[0]) sentAt.push(clock.wallMs());
        send(text);
      };
      connection.open();
    }
    await clock.advanceAsync(5_000);
    const counts = network.connections.map((connection) => messages(connection).flatMap(({ params }) => params).length);
    expect(counts).toEqual([200, 200, 50]);
    for (const at of sentAt)
      expect(sentAt.filter((other) => other >= at && other < at + 1_000).length).toBeLessThanOrEqual(10);
  });

  it("splits book data from the rest where the hosts are split, and keeps the books when the rest is lost", async () => {
    setUp(["BTC", "ETH"], "split");
    stream.start();
    expect(network.connections.map(({ url }) => url)).toEqual(["ws://venue/public/stream", "ws://venue/market/stream"]);
    const [book, rest] = network.connections as [FakeConnection, FakeConnection];
    await acknowledgeAll(rest);
    await acknowledgeAll(book);
    for (const symbol of ["BTCUSDT", "ETHUSDT"]) book.receive(venue.diff(symbol, 1_000));
    await clock.advanceAsync(1_500);
    expect(btc.book.state).toBe(BOOK_LIVE);
    rest.end(1006);
    expect(btc.book.state).toBe(BOOK_LIVE);
    book.end(1006);
    expect(btc.book.state).toBe(BOOK_INVALID);
  });

  it("streams a market that is listed later", async () => {
    const connection = await goLive();
    stream.add([createMarket(instrument("SOL"), { deepTier: false, maxBookAgeMs: 2_000, maxDeepAgeMs: 0 })]);
    await clock.advanceAsync(1_000);
    expect(connection.sent.at(-1)).toContain("solusdt@depth@100ms");
  });
});

describe("books", () => {
  it("reads a snapshot only after the venue has acknowledged the diffs", async () => {
    stream.start();
    network.last.open();
    await clock.advanceAsync(500);
    expect(venue.count("/depth")).toBe(0);
    for (const { id } of messages(network.last)) network.last.receive(JSON.stringify({ result: null, id }));
    await clock.advanceAsync(1);
    expect(
      venue.requests
        .filter(({ path }) => path.includes("/depth"))
        .map(({ path, weight, lane }) => [path, weight, lane]),
    ).toEqual([
      ["/fapi/v1/depth?symbol=BTCUSDT&limit=1000", 20, "reconcile"],
      ["/fapi/v1/depth?symbol=ETHUSDT&limit=1000", 20, "reconcile"],
    ]);
    expect(btc.book.state).toBe(BOOK_SYNCING);
  });

  it("takes a quiet market LIVE with a second snapshot", async () => {
    stream.start();
    await acknowledgeAll(network.last);
    expect(btc.book.state).toBe(BOOK_SYNCING);
    await clock.advanceAsync(2_000);
    expect(btc.book.state).toBe(BOOK_LIVE);
    expect(btc.book.bidTicks(0)).toBe(1_000);
  });

  it("invalidates on a gap, reads that market alone again, and is LIVE on the new chain", async () => {
    const connection = await goLive();
    const before = venue.count("/depth");
    venue.diff("BTCUSDT", 1_010);
    connection.receive(venue.diff("BTCUSDT", 1_020));
    expect([btc.book.state === BOOK_LIVE, eth.book.state]).toEqual([false, BOOK_LIVE]);
    await clock.advanceAsync(1_500);
    expect(venue.requests.slice(-1)[0]?.path).not.toContain("ETHUSDT&limit=1000");
    expect(venue.count("/depth")).toBe(before + 1);
    expect([btc.book.state, btc.book.bidTicks(0)]).toEqual([BOOK_LIVE, 1_020]);
    expect(stream.status()).toMatchObject({ gapCount: 1, resyncCount: 3 });
  });

  it("keeps one recovery in flight while gaps go on and snapshots fail", async () => {
    const connection = await goLive();
    venue.status = 500;
    const before = venue.count("/depth");
    for (let round = 0; round < 20; round++) {
      venue.diff("BTCUSDT", 1_000 + round);
      connection.receive(venue.diff("BTCUSDT", 1_001 + round));
      await clock.advanceAsync(100);
    }
    expect(venue.count("/depth") - before).toBeLessThan(12);
    expect(btc.book.state).not.toBe(BOOK_LIVE);
    venue.status = 200;
    await clock.advanceAsync(8_000);
    expect(btc.book.state).toBe(BOOK_LIVE);
  });

  it("invalidates on figures the instrument cannot hold", async () => {
    const connection = await goLive();
    connection.receive(venue.diff("BTCUSDT", 1_010).replace('"2.000"', '"2.0001"'));
    expect(btc.book.state).not.toBe(BOOK_LIVE);
    expect(stream.status().protocolDriftCount).toBe(1);
    await clock.advanceAsync(2_500);
    expect(btc.book.state).toBe(BOOK_LIVE);
  });

  it("loses every book and touch with the connection, and recovers them on the next", async () => {
    const connection = await goLive();
    connection.receive(venue.touch("BTCUSDT", 5_000, "100.1", "100.2"));
    connection.end(1006);
    expect([btc.book.state, btc.book.invalidReason, eth.book.state, btc.touch.present]).toEqual([
      BOOK_INVALID,
      INVALID_DISCONNECTED,
      BOOK_INVALID,
      false,
    ]);
    await clock.advanceAsync(2_000);
    expect(network.last).not.toBe(connection);
    await acknowledgeAll(network.last);
    network.last.receive(venue.diff("BTCUSDT", 1_030));
    await clock.advanceAsync(2_000);
    expect([btc.book.state, btc.book.bidTicks(0), eth.book.state]).toEqual([BOOK_LIVE, 1_030, BOOK_LIVE]);
  });

  it("survives rubbish, errors of the venue and unknown frames, and counts them", async () => {
    const connection = await goLive();
    for (const text of [
      "",
      "{",
      "[]",
      "hello",
      '{"stream":"x","data":{}}',
      '{"code":2,"msg":"no"}',
      '{"error":{"code":1,"msg":"no"},"id":99}',
      '{"e":"newKind","s":"BTCUSDT"}',
    ]) {
      connection.receive(text);
    }
    expect(btc.book.state).toBe(BOOK_LIVE);
    expect(stream.status()).toMatchObject({ decodeErrorCount: 4, protocolDriftCount: 3 });
  });
});

describe("planned replacement of a connection", () => {
  it("goes over without a gap while both deliver the same diffs", async () => {
    const first = await goLive();
    const symbols = ["BTCUSDT", "ETHUSDT"];
    const startMs = clock.wallMs();
    // Data keep the connection alive until it is replaced, before its 24 hours are over.
    while (network.connections.length < 2 && clock.wallMs() - startMs < 25 * 3_600_000) {
      for (const symbol of symbols) {
        first.receive(venue.diff(symbol, 1_000));
        first.receive(markPrice(symbol, clock.wallMs()));
      }
      clock.advance(9_000);
    }
    expect(network.connections.length).toBe(2);
    expect(clock.wallMs() - startMs).toBeLessThan(23.6 * 3_600_000);
    expect(first.isEnded).toBe(false);
    await clock.advanceAsync(100);
    const { gapCount, resyncCount } = stream.status();

    const second = network.last;
    await acknowledgeAll(second);
    for (let step = 0; step < 100; step++) {
      for (const symbol of symbols) {
        const diff = venue.diff(symbol, 1_000 + step);
        const touch = venue.touch(symbol, venue.lastId(symbol), venue.bid(symbol), venue.ask(symbol));
        const mark = markPrice(symbol, clock.wallMs());
        // Either may be the quicker one.
        const order = step % 2 === 0 ? [first, second] : [second, first];
        for (const connection of order)
          if (!connection.isEnded) for (const text of [diff, touch, mark]) connection.receive(text);
      }
      await clock.advanceAsync(100);
      expect([btc.book.state, eth.book.state]).toEqual([BOOK_LIVE, BOOK_LIVE]);
    }
    expect(first.isEnded).toBe(true);
    expect(second.isEnded).toBe(false);
    expect(btc.book.bidTicks(0)).toBe(1_099);
    expect(stream.status()).toMatchObject({ gapCount, resyncCount });
  });
});

function markPrice(symbol: string, E: number, p = "100.00000000"): string {
  return JSON.stringify({
    stream: "x",
    data: { e: "markPriceUpdate", E, s: symbol, p, i: "99.5", P: "1", r: "0.00010000", T: 1_790_000_000_000 },
  });
}

describe("ticker and touch", () => {
  it("joins both ticker streams and ignores late frames", async () => {
    const connection = await goLive();
    connection.receive(markPrice("BTCUSDT", 2_000, "116809.60000000"));
    connection.receive(markPrice("BTCUSDT", 1_000, "1.0"));
    const ticker = {
      e: "24hrTicker",
      E: 3_000,
      s: "BTCUSDT",
      p: "-0.5",
      P: "-0.361",
      w: "1",
      c: "101.0",
      Q: "5",
      o: "101.5",
      h: "103.0",
      l: "99.0",
      v: "15775",
      q: "1593275.5",
      O: 1,
      C: 2,
      F: 1,
      L: 2,
      n: 2,
    };
    connection.receive(JSON.stringify({ stream: "btcusdt@ticker", data: ticker }));
    connection.receive(JSON.stringify({ stream: "btcusdt@ticker", data: { ...ticker, E: 2_500, c: "1" } }));
    expect(btc.ticker).toMatchObject({
      markPrice: "116809.60000000",
      indexPrice: "99.5",
      fundingRate: "0.00010000",
      nextFundingTime: 1_790_000_000_000,
      lastPrice: "101.0",
      openPrice: "101.5",
      prevDayPrice: "101.5",
      high24h: "103.0",
      low24h: "99.0",
      change24h: "-0.361",
      change24hAbs: "-0.5",
      volume24h: "1593275.5",
      volumeBase: "15775",
      openInterest: "",
      tsVenueMs: 3_000,
    });
  });

  it("keeps the newest touch by update id and drops a crossed one", async () => {
    const connection = await goLive();
    connection.receive(venue.touch("BTCUSDT", 5_000, "100.1", "100.2"));
    connection.receive(venue.touch("BTCUSDT", 4_000, "99.0", "99.1"));
    expect([btc.touch.bidTicks, btc.touch.seq]).toEqual([1_001, 5_000]);
    connection.receive(venue.touch("BTCUSDT", 6_000, "100.2", "100.1"));
    expect(btc.touch.present).toBe(false);
    expect(stream.status().protocolDriftCount).toBe(1);
  });
});

describe("silence", () => {
  it("keeps a quiet book fresh by probes, two quiet markets in one call", async () => {
    await goLive();
    const before = venue.requests.length;
    await clock.advanceAsync(10_000);
    const probes = venue.requests.slice(before);
    expect(probes.every(({ path }) => path.startsWith("/fapi/v1/ticker/bookTicker"))).toBe(true);
    expect(probes.length).toBeLessThan(12);
    expect(probes.some(({ path, weight }) => !path.includes("symbol=") && weight === 2)).toBe(true);
    expect(ageMs(btc.book.tsProvenNs, clock.monoNs())).toBeLessThan(2_000);
    expect(btc.book.state).toBe(BOOK_LIVE);
  });

  it("finds a mute stream by its difference from the venue, subscribes it anew and recovers", async () => {
    const connection = await goLive();
    // The venue moves; the diff never comes.
    venue.diff("BTCUSDT", 1_500);
    const sentBefore = connection.sent.length;
    await clock.advanceAsync(4_500);
    const sent = messages(connection).slice(sentBefore);
    expect(sent.map(({ method, params }) => [method, params])).toEqual([
      ["UNSUBSCRIBE", ["btcusdt@depth@100ms"]],
      ["SUBSCRIBE", ["btcusdt@depth@100ms"]],
    ]);
    await clock.advanceAsync(4_000);
    expect([btc.book.state, btc.book.bidTicks(0), eth.book.state]).toEqual([BOOK_LIVE, 1_500, BOOK_LIVE]);
  });

  it("does not let a book that cannot be probed look fresh, nor kill its connection for our own limits", async () => {
    const connection = await goLive();
    venue.request = (request) => {
      venue.requests.push(request);
      return Promise.resolve({ kind: "notSent", reason: "BREAKER_OPEN", retryAfterMs: 1_000 });
    };
    for (let second = 0; second < 30; second++) {
      for (const symbol of ["BTCUSDT", "ETHUSDT"]) connection.receive(markPrice(symbol, clock.wallMs()));
      await clock.advanceAsync(1_000);
    }
    expect(ageMs(btc.book.tsProvenNs, clock.monoNs())).toBeGreaterThan(20_000);
    expect(connection.isEnded).toBe(false);
  });
});

describe("stop", () => {
  it("closes connections, leaves no LIVE book and no timer", async () => {
    const connection = await goLive();
    stream.stop();
    await clock.advanceAsync(5_000);
    expect([connection.isEnded, btc.book.state, clock.pendingTimerCount]).toEqual([true, BOOK_INVALID, 0]);
    expect(INVALID_GAP).not.toBe(btc.book.invalidReason);
  });
});

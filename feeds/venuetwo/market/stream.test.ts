import { beforeEach, describe, expect, it } from "vitest";
import type { Instrument } from "../../../engine/domain/instrument.js";
import { delay } from "../../../engine/domain/clock.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import {
  BOOK_INVALID,
  BOOK_LIVE,
  BOOK_SYNCING,
  INVALID_DISCONNECTED,
  INVALID_GAP,
} from "../../../engine/market/book.js";
import { bestTicks } from "../../../engine/market/depth-walk.js";
import { ageMs } from "../../../engine/market/freshness.js";
import { createMarket, NO_MARKET_LISTENER, type Market } from "../../../engine/market/market.js";
import { ClockOffset } from "../../shared/book/clock-offset.js";
import { ConnectionBudget } from "../../shared/net/connection-budget.js";
import type { HttpRequest, HttpResult, VenueHttp } from "../../shared/net/http.js";
import { keepDebugLines } from "../../shared/test/debug-lines.js";
import { type FakeConnection, FakeNetwork } from "../../shared/test/fake-connector.js";
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
  /** How long an answer to a snapshot is on its way; it tells of when it was asked for. */
  snapshotMs = 0;

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

  async request(request: HttpRequest): Promise<HttpResult> {
    this.requests.push(request);
    if (this.isUnreachable) return { kind: "noResponse", reason: "TIMEOUT" };
    const symbol = new URLSearchParams(request.path.split("?")[1] ?? "").get("symbol") ?? undefined;
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
    const answer = { kind: "response", status: this.status, headers: {}, body: JSON.stringify(body) } as const;
    if (this.snapshotMs > 0 && request.path.includes("/depth")) await delay(this.#clock, this.snapshotMs);
    return { ...answer, sentAtMs, receivedAtMs: this.#clock.wallMs() };
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
let clockOffset: ClockOffset;
let network: FakeNetwork;
let venue: TinyVenue;
let stream: MarketStream;
let btc: Market;
let eth: Market;

function setUp(
  bases: readonly string[] = ["BTC", "ETH"],
  layout: StreamHostLayout = "single",
  logger = silentLogger,
): readonly Market[] {
  clock = new VirtualClock();
  network = new FakeNetwork();
  venue = new TinyVenue(clock);
  clockOffset = new ClockOffset(clock);
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
      logger,
      http: venue,
      clockOffset,
      budget: new ConnectionBudget(clock, { maxConnections: 64, connectsPerMinute: 300 }),
      // The best levels of many markets have a test of their own (shallow-tier.test.ts).
      shallowFromMarkets: Number.POSITIVE_INFINITY,
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
  it("whose diffs and touches were held up do not look fresh, until one is on time", async () => {
    const connection = await goLive();
    const age = (): number => ageMs(btc.book.tsProvenNs, clock.monoNs());
    connection.receive(venue.diff("BTCUSDT", 1_010));
    expect(age()).toBe(0);
    clock.advance(btc.maxBookAgeMs + 1);
    const heldUp = (text: string): string => text.replace(/"E":(\d+)/, (_, ms) => `"E":${Number(ms) - 30_000}`);
    const waiting = Array.from({ length: 5 }, (_, index) => [
      heldUp(venue.diff("BTCUSDT", 1_020 + index)),
      heldUp(venue.touch("BTCUSDT", 9_000 + index, "102.0", "103.0")),
    ]).flat();
    for (const text of waiting) connection.receive(text);
    expect(btc.book.state).toBe(BOOK_LIVE);
    expect(age()).toBeGreaterThan(btc.maxBookAgeMs);
    expect(ageMs(btc.touch.tsRecvNs, clock.monoNs())).toBeGreaterThan(btc.maxBookAgeMs);
    connection.receive(venue.diff("BTCUSDT", 1_030));
    expect([btc.book.state, age()]).toEqual([BOOK_LIVE, 0]);
  });

  it("whose diffs and touches are stamped in the future keep their chain and do not look fresh", async () => {
    const connection = await goLive();
    clockOffset.addRoundTrip(clock.wallMs(), clock.wallMs(), clock.wallMs(), 1);
    connection.receive(venue.diff("BTCUSDT", 1_010));
    clock.advance(btc.maxBookAgeMs + 1);
    const ahead = (text: string): string => text.replace(/"E":(\d+)/, (_, ms) => `"E":${Number(ms) + 5_100}`);
    connection.receive(ahead(venue.diff("BTCUSDT", 1_020)));
    connection.receive(ahead(venue.touch("BTCUSDT", 9_000, "102.0", "103.0")));
    expect([btc.book.state, btc.book.bidTicks(0)]).toEqual([BOOK_LIVE, 1_020]);
    expect(ageMs(btc.book.tsProvenNs, clock.monoNs())).toBeGreaterThan(btc.maxBookAgeMs);
    expect(ageMs(btc.touch.tsRecvNs, clock.monoNs())).toBeGreaterThan(btc.maxBookAgeMs);
    connection.receive(venue.diff("BTCUSDT", 1_030));
    expect([btc.book.state, ageMs(btc.book.tsProvenNs, clock.monoNs())]).toEqual([BOOK_LIVE, 0]);
  });

  it("of a machine that slept are as old as they are", async () => {
    const connection = await goLive();
    connection.receive(venue.diff("BTCUSDT", 1_010));
    const waiting = [venue.diff("BTCUSDT", 1_020), venue.diff("BTCUSDT", 1_021)];
    // The monotonic clock knows nothing of a sleep.
    clock.stepWall(30_000);
    clock.advance(btc.maxBookAgeMs + 1);
    for (const text of waiting) connection.receive(text);
    expect(ageMs(btc.book.tsProvenNs, clock.monoNs())).toBeGreaterThan(btc.maxBookAgeMs);
  });

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

  it("takes a quiet market for as old as the request of the snapshot that shows it", async () => {
    stream.start();
    await acknowledgeAll(network.last);
    venue.snapshotMs = 4_000;
    const isLive = (): boolean => btc.book.state === BOOK_LIVE;
    for (let elapsedMs = 0; elapsedMs < 10_000 && !isLive(); elapsedMs += 10) await clock.advanceAsync(10);
    expect(isLive()).toBe(true);
    const youngestMs = ageMs(btc.book.tsProvenNs, clock.monoNs());
    expect(youngestMs).toBeGreaterThanOrEqual(4_000);
    expect(youngestMs).toBeLessThan(5_000);
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

  it("reads a market again that fell quiet after figures that the instrument could not hold", async () => {
    const connection = await goLive();
    for (const bid of [1_001, 1_002]) {
      connection.receive(venue.diff("BTCUSDT", bid).replace('"2.000"', '"2.0001"'));
      await clock.advanceAsync(1_000);
    }
    expect(btc.book.state).not.toBe(BOOK_LIVE);
    for (let second = 0; second < 30; second++) {
      // Marks come whatever the market does, and keep the connection.
      for (const symbol of ["BTCUSDT", "ETHUSDT"]) connection.receive(markPrice(symbol, clock.wallMs()));
      await clock.advanceAsync(1_000);
    }
    expect(network.connections).toHaveLength(1);
    expect([btc.book.state, btc.book.bidTicks(0)]).toEqual([BOOK_LIVE, 1_002]);
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

describe("a stream that cannot be trusted", () => {
  it("is read again when its ids begin again on a living connection, and no touch of before stays on top", async () => {
    const connection = await goLive();
    venue.lastIds.set("BTCUSDT", 9_000_000);
    connection.receive(venue.diff("BTCUSDT", 1_001));
    await clock.advanceAsync(1_500);
    connection.receive(venue.diff("BTCUSDT", 1_002));
    await clock.advanceAsync(1_500);
    expect([btc.book.state, btc.book.bidTicks(0)]).toEqual([BOOK_LIVE, 1_002]);
    connection.receive(venue.touch("BTCUSDT", 9_000_050, "100.3", "100.7"));
    venue.lastIds.set("BTCUSDT", 500);
    for (let bid = 1_010; bid < 1_030; bid++) {
      connection.receive(venue.diff("BTCUSDT", bid));
      await clock.advanceAsync(100);
    }
    await clock.advanceAsync(1_000);
    expect([btc.book.state, btc.book.bidTicks(0), btc.book.seq]).toEqual([BOOK_LIVE, 1_029, venue.lastId("BTCUSDT")]);
    expect(bestTicks(btc, "SELL")).toBe(1_029);
    expect(eth.book.state).toBe(BOOK_LIVE);
    expect(stream.status().reconnectCount).toBe(0);
  });

  it.each([
    ["a side that is no list", (text: string) => text.replace('"b":[[', '"b":"[[').replace(']],"a"', ']]","a"')],
    ["a figure that is no text", (text: string) => text.replace('"2.000"', "2")],
    ["no id", (text: string) => text.replace(/"u":\d+,/, "")],
    ["no event name", (text: string) => text.replace('"e":"depthUpdate",', "")],
    ["another event name", (text: string) => text.replace("depthUpdate", "depthRefresh")],
    ["a symbol that is not ours", (text: string) => text.replace('"s":"BTCUSDT"', '"s":"NOSUCHUSDT"')],
    ["its end cut off", (text: string) => text.slice(0, -20)],
    ["a time beyond all numbers", (text: string) => text.replace(/"E":\d+/, '"E":99999999999999999999')],
  ])("takes its book down at once with %s, and that book alone", async (_name, garble) => {
    const connection = await goLive();
    const garbled = garble(venue.diff("BTCUSDT", 1_010));
    connection.receive(garbled);
    expect([btc.book.state === BOOK_LIVE, eth.book.state]).toEqual([false, BOOK_LIVE]);
    await clock.advanceAsync(2_500);
    expect([btc.book.state, btc.book.bidTicks(0)]).toEqual([BOOK_LIVE, 1_010]);
  });

  it("is known by a name in any script when its frame cannot be read", async () => {
    setUp(["BTC", "币安人生"]);
    const symbols = ["BTCUSDT", "币安人生USDT"];
    stream.start();
    await acknowledgeAll(network.last);
    for (const symbol of symbols) network.last.receive(venue.diff(symbol, 1_000));
    await clock.advanceAsync(1_500);
    expect([btc.book.state, eth.book.state]).toEqual([BOOK_LIVE, BOOK_LIVE]);
    network.last.receive(venue.diff("币安人生USDT", 1_010).slice(0, -20));
    expect([btc.book.state, eth.book.state === BOOK_LIVE]).toEqual([BOOK_LIVE, false]);
  });

  it("takes touches again when its ids begin again while the book waits for its snapshot", async () => {
    const connection = await goLive();
    venue.lastIds.set("BTCUSDT", 9_000_000);
    connection.receive(venue.touch("BTCUSDT", 9_000_050, "100.3", "100.7"));
    venue.status = 503;
    connection.receive(venue.diff("BTCUSDT", 1_001));
    venue.lastIds.set("BTCUSDT", 500);
    for (let bid = 1_010; bid < 1_030; bid++) {
      connection.receive(venue.diff("BTCUSDT", bid));
      await clock.advanceAsync(100);
    }
    venue.status = 200;
    await clock.advanceAsync(6_000);
    expect([btc.book.state, btc.book.bidTicks(0)]).toEqual([BOOK_LIVE, 1_029]);
    connection.receive(venue.touch("BTCUSDT", venue.lastId("BTCUSDT") + 1, "103.1", "103.2"));
    expect([btc.touch.bidTicks, bestTicks(btc, "SELL")]).toEqual([1_031, 1_031]);
  });

  it("keeps the book when another of its streams brings rubbish", async () => {
    const connection = await goLive();
    connection.receive('{"stream":"btcusdt@bookTicker","data":{"e":"bookTicker","s":"BTCUSDT","u":"x"}}');
    connection.receive('{"stream":"btcusdt@aggTrade","data":{"e":"aggTrade"');
    connection.receive('{"stream":"xyzusdt@depth@100ms","data":{"e":"depthUpdate"');
    expect(btc.book.state).toBe(BOOK_LIVE);
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

const TICKER = {
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

describe("ticker and touch", () => {
  it("joins both ticker streams and ignores late frames", async () => {
    const connection = await goLive();
    connection.receive(markPrice("BTCUSDT", 2_000, "116809.60000000"));
    connection.receive(markPrice("BTCUSDT", 1_000, "1.0"));
    const ticker = TICKER;
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

  it("takes no figure from the future, and none of a clock that was ahead bars those of the right time", async () => {
    const connection = await goLive();
    const measure = (aheadMs: number): void =>
      clockOffset.addRoundTrip(clock.wallMs(), clock.wallMs(), clock.wallMs() + aheadMs, 1);
    const send = (aheadMs: number, price: string): void => {
      const E = clock.wallMs() + aheadMs;
      connection.receive(markPrice("BTCUSDT", E, price));
      const ticker = { ...TICKER, E, c: price };
      connection.receive(JSON.stringify({ stream: "btcusdt@ticker", data: ticker }));
    };
    const shown = (): readonly string[] => [btc.ticker.markPrice, btc.ticker.lastPrice];
    measure(0);
    send(0, "100.0");
    for (const aheadMs of [5_100, 31_536_000_000]) send(aheadMs, "150.0");
    expect(shown()).toEqual(["100.0", "100.0"]);
    measure(60_000);
    send(60_000, "101.0");
    expect(shown()).toEqual(["101.0", "101.0"]);
    clock.advance(1_000);
    measure(0);
    send(0, "102.0");
    expect(shown()).toEqual(["102.0", "102.0"]);
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

const aggTrade = (a: number, T: number): string => {
  const data = {
    e: "aggTrade",
    E: clock.wallMs(),
    a,
    s: "BTCUSDT",
    p: "100.0",
    q: "1.000",
    f: a,
    l: a,
    T,
    m: false,
  };
  return JSON.stringify({ stream: "btcusdt@aggTrade", data });
};

describe("trades", () => {
  it("of 1970 are not reported: the stamp is in other units, or none", async () => {
    const connection = await goLive();
    let count = 0;
    btc.signal.listen({ ...NO_MARKET_LISTENER, traded: () => count++ });
    const before = stream.status().protocolDriftCount;
    for (const [index, T] of [0, 5, 1_790_000_000].entries()) connection.receive(aggTrade(index + 1, T));
    expect([count, stream.status().protocolDriftCount]).toEqual([0, before + 3]);
    connection.receive(aggTrade(1, clock.wallMs()));
    expect([count, stream.status().protocolDriftCount]).toEqual([1, before + 3]);
  });

  it("from the future are not reported", async () => {
    const connection = await goLive();
    clockOffset.addRoundTrip(clock.wallMs(), clock.wallMs(), clock.wallMs(), 1);
    let count = 0;
    btc.signal.listen({ ...NO_MARKET_LISTENER, traded: () => count++ });
    const before = stream.status().protocolDriftCount;
    for (const aheadMs of [5_100, 30_000, 86_400_000]) connection.receive(aggTrade(1, clock.wallMs() + aheadMs));
    expect([count, stream.status().protocolDriftCount]).toEqual([0, before + 3]);
    connection.receive(aggTrade(1, clock.wallMs() + 100));
    expect([count, stream.status().protocolDriftCount]).toEqual([1, before + 3]);
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

  it("finds a mute stream by its difference from the venue, subscribes it again and recovers", async () => {
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

describe("debug lines", () => {
  it("say of each dropped frame, each lost book, each resync that goes on and each reconnect whose it is and why", async () => {
    const { logger, lines } = keepDebugLines();
    setUp(["BTC", "ETH"], "single", logger);
    const connection = await goLive();
    lines.length = 0;
    venue.status = 503;
    venue.diff("BTCUSDT", 1_010);
    connection.receive(venue.diff("BTCUSDT", 1_020));
    await clock.advanceAsync(50);
    venue.status = 200;
    await clock.advanceAsync(5_000);
    connection.receive(venue.diff("ETHUSDT", 1_010).replace('"b":', '"b":[["a'));
    connection.receive('{"stream":"weather","data":{"e":"weather"}}');
    connection.end(1012, "restart");
    expect(lines).toEqual([
      "book.resync venue=venuetwo symbol=BTC tier=book reason=SEQUENCE_GAP",
      "book.resync-goes-on venue=venuetwo symbol=BTC reason=NO_ANSWER",
      "frame.dropped venue=venuetwo channel=depth symbol=ETH reason=MALFORMED",
      "book.resync venue=venuetwo symbol=ETH tier=book reason=DECODE_ERROR",
      "frame.dropped venue=venuetwo channel=weather symbol= reason=UNKNOWN_KIND",
      "book.resync venue=venuetwo symbol=BTC tier=book reason=DISCONNECTED",
      expect.stringMatching(
        /^socket\.reconnect socket=venuetwo\.market\.0 code=1012 reason=restart attempt=1 delayMs=\d+$/,
      ),
    ]);
  });

  it("are not there at level info", async () => {
    const { logger, lines } = keepDebugLines();
    setUp(["BTC", "ETH"], "single", { ...logger, debug: null });
    const connection = await goLive();
    connection.receive("rubbish");
    connection.end(1006);
    expect(lines).toEqual([]);
  });
});

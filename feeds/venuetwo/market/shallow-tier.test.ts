/** Many markets: the best levels first, whole books after, within the venue's weight. */
import { beforeEach, describe, expect, it } from "vitest";
import { delay } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import { DepthWalk, walkDepth } from "../../../engine/market/depth-walk.js";
import { ageMs } from "../../../engine/market/freshness.js";
import { createMarket, NO_MARKET_LISTENER, type Market } from "../../../engine/market/market.js";
import { ClockOffset } from "../../shared/book/clock-offset.js";
import { ConnectionBudget } from "../../shared/net/connection-budget.js";
import type { HttpRequest, HttpResult, VenueHttp } from "../../shared/net/http.js";
import { type FakeConnection, FakeNetwork } from "../../shared/test/fake-connector.js";
import { MAX_BOOK_AGE_MS } from "../rules/limits.js";
import { MarketStream } from "./stream.js";
import { normalizeSymbol } from "./symbols.js";

const MARKETS = 60;
const QUIET_FROM = 45;
const LEVELS = 30;
/** By now every book is whole, however the venue's weight runs. */
const WHOLE_MS = 75_000;

function instrument(base: string): Instrument {
  const made = normalizeSymbol({
    symbol: `${base}USDT`,
    contractType: "PERPETUAL",
    status: "TRADING",
    baseAsset: base,
    quoteAsset: "USDT",
    pricePrecision: 1,
    quantityPrecision: 3,
    filters: [
      { filterType: "PRICE_FILTER", minPrice: "0.1", maxPrice: "1000000", tickSize: "0.1" },
      { filterType: "LOT_SIZE", stepSize: "0.001", maxQty: "1000", minQty: "0.001" },
    ],
  });
  if (typeof made === "string") throw new Error(made);
  return made;
}

/** Books of LEVELS levels a side around a bid that moves; the first QUIET_FROM markets speak, the others never. */
class ManyMarkets implements VenueHttp {
  readonly requests: { readonly path: string; readonly weight: number; readonly atMs: number }[] = [];
  readonly ids = new Map<string, number>();
  readonly bids = new Map<string, number>();
  readonly #clock: VirtualClock;
  isRefusing = false;
  /** How long an answer with levels is on its way; it tells of when it was asked for. */
  depthMs = 0;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  id(symbol: string): number {
    return this.ids.get(symbol) ?? 1_000;
  }

  bidTicks(symbol: string): number {
    return this.bids.get(symbol) ?? 1_000;
  }

  side(symbol: string, sign: 1 | -1, count: number): [string, string][] {
    const best = this.bidTicks(symbol) + (sign === 1 ? 5 : 0);
    return Array.from({ length: count }, (_, index) => [((best + sign * index) / 10).toFixed(1), "2.000"]);
  }

  /** The market moves by one tick; returns the frames of both streams. */
  move(symbol: string): readonly { readonly name: string; readonly text: string }[] {
    const lower = symbol.toLowerCase();
    const prevId = this.id(symbol);
    const [bid, ask] = [this.side(symbol, -1, LEVELS), this.side(symbol, 1, LEVELS)];
    this.ids.set(symbol, prevId + 7);
    this.bids.set(symbol, this.bidTicks(symbol) + 1);
    const gone = (level: [string, string] | undefined): [string, string] => [level?.[0] ?? "", "0.000"];
    const last = (side: [string, string][]): [string, string] => side.at(-1) ?? ["", ""];
    const ids = {
      e: "depthUpdate",
      E: this.#clock.wallMs(),
      T: 1,
      s: symbol,
      U: prevId + 3,
      u: prevId + 7,
      pu: prevId,
    };
    const diff = {
      ...ids,
      b: [...this.side(symbol, -1, 1), gone(bid.at(-1))],
      a: [gone(ask[0]), last(this.side(symbol, 1, LEVELS))],
    };
    const top = { ...ids, b: this.side(symbol, -1, 20), a: this.side(symbol, 1, 20) };
    return [
      { name: `${lower}@depth20@100ms`, text: JSON.stringify({ stream: `${lower}@depth20@100ms`, data: top }) },
      { name: `${lower}@depth@100ms`, text: JSON.stringify({ stream: `${lower}@depth@100ms`, data: diff }) },
    ];
  }

  /** What comes every second, whatever the market does. */
  mark(symbol: string): { readonly name: string; readonly text: string } {
    const name = `${symbol.toLowerCase()}@markPrice@1s`;
    const data = { e: "markPriceUpdate", E: this.#clock.wallMs(), s: symbol, p: "1.0", i: "1.0", r: "0.0001", T: 1 };
    return { name, text: JSON.stringify({ stream: name, data }) };
  }

  async request({ path, weight }: HttpRequest): Promise<HttpResult> {
    const atMs = this.#clock.wallMs();
    this.requests.push({ path, weight, atMs });
    if (this.isRefusing) return { kind: "notSent", reason: "RATE_BUDGET", retryAfterMs: 1_000 };
    const query = new URLSearchParams(path.split("?")[1] ?? "");
    const symbol = query.get("symbol");
    const touchRow = (name: string) => {
      const [bid, ask] = [this.side(name, -1, 1)[0], this.side(name, 1, 1)[0]];
      return { symbol: name, bidPrice: bid?.[0], bidQty: bid?.[1], askPrice: ask?.[0], askQty: ask?.[1], time: 1 };
    };
    const count = Math.min(LEVELS, Number(query.get("limit")));
    const body = path.includes("/depth")
      ? {
          lastUpdateId: this.id(symbol ?? ""),
          E: 1,
          T: 1,
          bids: this.side(symbol ?? "", -1, count),
          asks: this.side(symbol ?? "", 1, count),
        }
      : symbol === null
        ? NAMES.map(touchRow)
        : touchRow(symbol);
    const answer = { kind: "response", status: 200, headers: {}, body: JSON.stringify(body) } as const;
    if (this.depthMs > 0 && path.includes("/depth")) await delay(this.#clock, this.depthMs);
    return { ...answer, sentAtMs: atMs, receivedAtMs: this.#clock.wallMs() };
  }
}

const NAMES = Array.from({ length: MARKETS }, (_, index) => `C${index}USDT`);
let clock: VirtualClock;
let network: FakeNetwork;
let venue: ManyMarkets;
let stream: MarketStream;
let markets: readonly Market[];
let isMoving: boolean;
/** Of each connection: the names it asked for and has not given up. */
const asked = new Map<FakeConnection, Set<string>>();
const answered = new Map<FakeConnection, number>();
const opened = new Set<FakeConnection>();
let startMs: number;
/** Whether a connection is let open. */
let mayOpen: (connection: FakeConnection, index: number) => boolean;

beforeEach(() => {
  clock = new VirtualClock();
  network = new FakeNetwork();
  venue = new ManyMarkets(clock);
  isMoving = true;
  mayOpen = () => true;
  asked.clear();
  answered.clear();
  opened.clear();
  startMs = clock.wallMs();
  markets = NAMES.map((name) =>
    createMarket(instrument(name.slice(0, -4)), { deepTier: false, maxBookAgeMs: MAX_BOOK_AGE_MS, maxDeepAgeMs: 0 }),
  );
  stream = streamWith(30);
});

function streamWith(connectsPerMinute: number): MarketStream {
  return new MarketStream(
    {
      wsUrl: "ws://venue",
      layout: "single",
      connector: network.connector,
      clock,
      random: createSeededRandom(5),
      logger: silentLogger,
      http: venue,
      clockOffset: new ClockOffset(clock),
      budget: new ConnectionBudget(clock, { maxConnections: 64, connectsPerMinute }),
    },
    markets,
  );
}

const isUp = (connection: FakeConnection): boolean => opened.has(connection) && !connection.isEnded;

function publish({ name, text }: { readonly name: string; readonly text: string }): void {
  for (const [connection, names] of asked) if (isUp(connection) && names.has(name)) connection.receive(text);
}

/** The venue's side of the sockets for so long: opens, acknowledges, moves its markets twice a second. */
async function run(forMs: number, onStep: () => void = () => {}): Promise<void> {
  for (let elapsedMs = 0; elapsedMs < forMs; elapsedMs += 100) {
    for (const [index, connection] of network.connections.entries()) {
      if (!opened.has(connection) && !connection.isEnded && mayOpen(connection, index)) {
        opened.add(connection);
        connection.open();
      }
      const names = asked.get(connection) ?? new Set();
      asked.set(connection, names);
      for (const text of connection.sent.slice(answered.get(connection) ?? 0)) {
        const { method, params, id } = JSON.parse(text) as { method: string; params: string[]; id: number };
        for (const name of params) {
          if (method === "SUBSCRIBE") names.add(name);
          else names.delete(name);
        }
        connection.receive(JSON.stringify({ result: null, id }));
      }
      answered.set(connection, connection.sent.length);
    }
    if (elapsedMs % 5_000 === 0) for (const symbol of NAMES) publish(venue.mark(symbol));
    if (isMoving && elapsedMs % 500 === 0) {
      for (const symbol of NAMES.slice(0, QUIET_FROM)) for (const frame of venue.move(symbol)) publish(frame);
    }
    await clock.advanceAsync(100);
    onStep();
  }
}

const liveCount = (): number => markets.filter(({ book }) => book.state === BOOK_LIVE).length;
const deepCount = (): number => markets.filter(({ book }) => book.bidCount === LEVELS).length;
const shallowNames = (): number =>
  [...asked]
    .filter(([connection]) => isUp(connection))
    .reduce((sum, [, names]) => sum + [...names].filter((name) => name.includes("@depth20")).length, 0);

describe("many markets", () => {
  it("are LIVE by their best levels within seconds, before any whole book is, and fill what those hold", async () => {
    mayOpen = (_connection, index) => index === 0;
    stream.start();
    await run(5_000);
    expect(liveCount()).toBe(MARKETS);
    expect(venue.requests.filter(({ path }) => path.includes("limit=1000"))).toEqual([]);
    const [market] = markets as [Market];
    expect(market.book.bidCount).toBe(20);
    const walk = new DepthWalk();
    walkDepth(market, "SELL", 20 * 2_000, 0, true, walk);
    expect([walk.filledLots, walk.neededDeep]).toEqual([40_000, false]);
    walkDepth(market, "SELL", 20 * 2_000 + 1, 0, true, walk);
    expect([walk.filledLots, walk.neededDeep]).toEqual([40_000, true]);
  });

  it("are as old as the request where REST shows them, whatever their dead streams did not tell meanwhile", async () => {
    venue.depthMs = 4_000;
    stream.start();
    const movedMs = new Map<number, number>();
    const wrong: string[] = [];
    await run(12_000, () => {
      for (let index = QUIET_FROM; index < MARKETS; index++) {
        const market = markets[index] as Market;
        const symbol = NAMES[index] as string;
        // Their streams are dead: the market moves once, after it was asked for, and no frame reports it.
        const isAsked = venue.requests.some(({ path }) => path.includes(`symbol=${symbol}&limit=20`));
        if (isAsked && !movedMs.has(index)) {
          venue.bids.set(symbol, 2_000);
          movedMs.set(index, clock.wallMs());
        }
        const isFresh = ageMs(market.book.tsProvenNs, clock.monoNs()) <= MAX_BOOK_AGE_MS;
        const sinceMs = clock.wallMs() - (movedMs.get(index) ?? Number.POSITIVE_INFINITY);
        if (
          market.book.state === BOOK_LIVE &&
          isFresh &&
          market.book.bidTicks(0) !== 2_000 &&
          sinceMs > MAX_BOOK_AGE_MS
        )
          wrong.push(`${symbol} ${sinceMs}`);
      }
    });
    expect(movedMs.size).toBeGreaterThan(0);
    expect(wrong).toEqual([]);
  });

  it("become whole books one after the other, needed ones first, then by volume, never beyond the weight lent", async () => {
    const endReading = markets[30]?.signal.listen(NO_MARKET_LISTENER);
    for (const [index, { ticker }] of markets.entries()) ticker.volume24h = String(index === 31 ? 9_000 : index);
    stream.start();
    let firstDeep: number[] = [];
    await run(WHOLE_MS, () => {
      if (firstDeep.length === 0 && deepCount() > 0) {
        firstDeep = venue.requests.flatMap(({ path }) => {
          const index = /symbol=C(\d+)USDT&limit=1000/.exec(path)?.[1];
          return index === undefined ? [] : [Number(index)];
        });
      }
      expect(liveCount() === MARKETS || clock.wallMs() < startMs + 6_000).toBe(true);
    });
    expect(firstDeep[0]).toBe(30);
    // Quiet markets show nothing yet and go before those that show something.
    expect(firstDeep.filter((index) => index < QUIET_FROM).slice(0, 2)).toEqual([30, 31]);
    expect(deepCount()).toBe(MARKETS);
    expect(shallowNames()).toBe(0);
    for (const { atMs } of venue.requests) {
      const minute = venue.requests.filter((other) => other.atMs > atMs - 60_000 && other.atMs <= atMs);
      expect(minute.reduce((sum, { weight }) => sum + weight, 0)).toBeLessThanOrEqual(1_440);
    }
    endReading?.();
  });

  it("stay fresh while quiet, by few calls for all of them together", async () => {
    stream.start();
    await run(WHOLE_MS);
    isMoving = false;
    await run(3_000);
    const before = venue.requests.length;
    let oldestMs = 0;
    await run(20_000, () => {
      for (const { book } of markets) oldestMs = Math.max(oldestMs, ageMs(book.tsProvenNs, clock.monoNs()));
    });
    expect(oldestMs).toBeLessThanOrEqual(MAX_BOOK_AGE_MS);
    const probes = venue.requests.slice(before).filter(({ path }) => path.includes("bookTicker"));
    expect(probes.reduce((sum, { weight }) => sum + weight, 0)).toBeLessThanOrEqual(3 * 20);
  });

  it("are LIVE again within seconds of the loss of every connection", async () => {
    stream.start();
    await run(WHOLE_MS);
    expect(deepCount()).toBe(MARKETS);
    for (const connection of [...network.connections]) if (isUp(connection)) connection.end(1006);
    expect(liveCount()).toBe(0);
    await run(5_000);
    expect(liveCount()).toBe(MARKETS);
  });

  it("are so too right after the other connections had taken what connects there were", async () => {
    stream = streamWith(6);
    stream.start();
    await run(5_000);
    expect(liveCount()).toBe(MARKETS);
    for (const connection of [...network.connections]) if (isUp(connection)) connection.end(1006);
    await run(5_000);
    expect(liveCount()).toBe(MARKETS);
  });

  it("fall back to their best levels when the connection of their diffs is lost, and those survive it", async () => {
    stream.start();
    await run(WHOLE_MS);
    const diffs = [...asked].find(([, names]) => names.has("c0usdt@depth@100ms"))?.[0];
    mayOpen = () => false;
    diffs?.end(1006);
    expect(markets[0]?.book.state).not.toBe(BOOK_LIVE);
    await run(1_000);
    expect([markets[0]?.book.state, markets[0]?.book.bidCount]).toEqual([BOOK_LIVE, 20]);
    await run(20_000);
    expect([markets[0]?.book.state, markets[0]?.book.bidCount]).toEqual([BOOK_LIVE, 20]);
  });

  it("leave no connection and no LIVE book behind when they are stopped", async () => {
    stream.start();
    await run(5_000);
    stream.stop();
    await run(5_000);
    expect(liveCount()).toBe(0);
    expect(network.connections.filter(({ isEnded }) => !isEnded)).toEqual([]);
  });
});

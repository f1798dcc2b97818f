/**
 * Real rooms against local venues over loopback: one name that is never streamed costs the others nothing, and a
 * connection that only answers pings does not keep its books fresh. Each runs with the room as it is, and with its rule
 * taken out: the check finds that, and the comparison of each book with the moment it names does not.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import type { MarketRoom, NonceReservations } from "../../../engine/ports.js";
import { type Connector, connectWs } from "../../../feeds/shared/net/connector.js";
import { Subscription } from "../../../feeds/shared/net/subscriptions.js";
import { createVenuethreeRoom } from "../../../feeds/venuethree/room.js";
import { Shard } from "../../../feeds/venuethree/market/shard.js";
import { createVenuetwoRoom } from "../../../feeds/venuetwo/room.js";
import { BookChecker } from "../support/book-checker.js";
import { type LocalMarkets, startLocalMarkets } from "../support/local-markets.js";
import { nativeName } from "../support/local-venues.js";
import { PresentChecker } from "../support/present-checker.js";
import { pause, waitUntil } from "../support/system.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_123);
const READ_EVERY_MS = 20;
const DEADLINE_MS = 60_000;
/** Several times as long as the planted bug needs to replace a connection. */
const WATCHED_MS = 15_000;
/** One reconnect in the watched time takes more than the rest. */
const LIVE_SHARE_MIN = 0.98;
/** Longer than the checker's window and the steps before it. */
const MUTE_MS = 9_000;

const NO_NONCES: NonceReservations = { reserve: () => Promise.reject(new Error("not used")) };
const table: string[] = [];
afterAll(() => {
  process.stdout.write(`live streams, seed ${SEED}\n${table.map((row) => `  ${row}\n`).join("")}`);
});

interface Watch {
  readonly markets: LocalMarkets;
  readonly room: MarketRoom;
  readonly books: BookChecker;
  readonly present: PresentChecker;
  /** Connections made for market data. */
  connectionCount: number;
  stop(): Promise<void>;
}

async function startWatch(
  seed: number,
  venue: "venuetwo" | "venuethree",
  symbols: readonly string[],
  plant: (room: MarketRoom) => void,
): Promise<Watch> {
  const clock = createSystemClock();
  const markets = await startLocalMarkets({ seed, symbols, clock, flow: { levelCount: 40 } });
  const connector: Connector = (...connection) => {
    watch.connectionCount++;
    return connectWs(...connection);
  };
  const room = (venue === "venuetwo" ? createVenuetwoRoom : createVenuethreeRoom)({
    clock,
    random: createSeededRandom(seed),
    logger: silentLogger,
    nonces: NO_NONCES,
    symbols,
    isMainnet: true,
    restUrl: markets[venue].restUrl,
    wsUrl: markets[venue].wsUrl,
    connector,
  });
  const books = new BookChecker();
  const present = new PresentChecker(clock);
  let reader: NodeJS.Timeout | null = null;
  const watch: Watch = {
    markets,
    room,
    books,
    present,
    connectionCount: 0,
    async stop() {
      if (reader !== null) clearInterval(reader);
      await room.stop();
      await markets.stop();
    },
  };
  try {
    await room.start();
    plant(room);
    const truth = venue === "venuethree" ? markets.venuethree : { exchange: markets.venuetwo.exchange };
    for (const symbol of symbols) {
      const market = room.markets.get(symbol);
      if (market === undefined) throw new Error(`${venue} lists no ${symbol}`);
      books.watchMarket(venue, truth, symbol, market);
      present.watch(venue, truth, symbol, market);
    }
    await waitUntil("every book LIVE", DEADLINE_MS, () => books.allLive);
  } catch (error) {
    await watch.stop();
    throw error;
  }
  reader = setInterval(() => {
    books.sample();
    present.sample();
  }, READ_EVERY_MS);
  return watch;
}

/** Each book by itself is right. */
function expectEachTrue({ books }: Watch): void {
  expect(books.differences).toEqual([]);
  expect(books.counts().unjudgedCount).toBe(0);
}

describe.concurrent("a name that is never streamed", () => {
  const SYMBOLS = ["BTC", "ETH", "SOL", "BNB", "XRP", "DOGE", "LINK", "HYPE"];
  /** The planted bug: names whose death the room forgets at each read of it. */
  const forgotten = new Set<string>();
  const { judge } = Subscription.prototype;
  beforeAll(() => {
    Subscription.prototype.judge = function (nowNs) {
      if (forgotten.has(this.spec.name.split("@")[0] ?? "")) {
        this.wasReplacedFor = false;
        this.restsUntilNs = 0;
      }
      return judge.call(this, nowNs);
    };
  });
  afterAll(() => {
    Subscription.prototype.judge = judge;
  });

  /** Connections made after the first replacement, and the LIVE share of the other books meanwhile. */
  async function watchDead(watch: Watch, dead: string): Promise<{ connections: number; share: number }> {
    const { markets, books } = watch;
    const others = books.books.filter(({ name }) => !name.includes(` ${dead} `));
    const areLive = (): boolean => others.every(({ book }) => book.state === BOOK_LIVE);
    markets.fault(["venuetwo"], {
      kind: "loss",
      scope: ["market"],
      match: nativeName("venuetwo", dead).toLowerCase(),
    });
    const before = watch.connectionCount;
    await waitUntil("the connection replaced once", DEADLINE_MS, () => watch.connectionCount > before && areLive());
    const first = watch.connectionCount;
    books.restartSamples();
    await pause(WATCHED_MS);
    const shares = others.map(({ sampleCount, liveCount }) => (sampleCount === 0 ? 0 : liveCount / sampleCount));
    return { connections: watch.connectionCount - first, share: Math.min(...shares) };
  }

  it("costs the others one connection, and no book", async () => {
    const watch = await startWatch(SEED, "venuetwo", SYMBOLS, () => {});
    try {
      const { connections, share } = await watchDead(watch, "XRP");
      table.push(`dead stream: ${connections} connections after the first, others LIVE ${(100 * share).toFixed(1)} %`);
      expect(connections).toBe(0);
      expect(share).toBeGreaterThanOrEqual(LIVE_SHARE_MIN);
      expectEachTrue(watch);
    } finally {
      await watch.stop();
    }
  }, 180_000);

  it("is seen to cost them one connection after another once its death is forgotten, each book being right", async () => {
    forgotten.add("dogeusdt");
    const watch = await startWatch(SEED, "venuetwo", SYMBOLS, () => {});
    try {
      const { connections, share } = await watchDead(watch, "DOGE");
      table.push(`planted, death forgotten: ${connections} connections, others LIVE ${(100 * share).toFixed(1)} %`);
      expect(connections).toBeGreaterThan(0);
      expect(share).toBeLessThan(LIVE_SHARE_MIN);
      expectEachTrue(watch);
    } finally {
      await watch.stop();
    }
  }, 180_000);
});

describe.concurrent("a connection that is mute but for pongs", () => {
  const SYMBOLS = ["BTC", "ETH", "SOL"];
  /** The planted bug: rooms that take any height for recent. */
  const patient = new Set<MarketRoom>();
  const { sweep } = Shard.prototype;
  beforeAll(() => {
    Shard.prototype.sweep = function (nowNs) {
      const height = this.socket.subscription("height");
      const isOf = (room: MarketRoom): boolean =>
        [...this.slots].some(({ market }) => room.markets.get(market.instrument.symbol) === market);
      if (height !== null && height.aliveNs >= 0 && [...patient].some(isOf)) height.aliveNs = nowNs;
      sweep.call(this, nowNs);
    };
  });
  afterAll(() => {
    Shard.prototype.sweep = sweep;
  });

  async function mute({ markets }: Watch): Promise<() => void> {
    const speak = markets.fault(["venuethree"], { kind: "loss", scope: ["market"] });
    await pause(MUTE_MS);
    return speak;
  }

  it("does not keep its books fresh, and they come back when it speaks", async () => {
    const watch = await startWatch(SEED + 1, "venuethree", SYMBOLS, () => {});
    try {
      const { present, books } = watch;
      const speak = await mute(watch);
      speak();
      await waitUntil("every book LIVE again", DEADLINE_MS, () => books.allLive);
      table.push(
        `mute connection: ${present.frozenCount} frozen of ${present.claimCount} looks at what was called fresh`,
      );
      expect(present.problems).toEqual([]);
      expect(present.claimCount).toBeGreaterThan(0);
      expectEachTrue(watch);
    } finally {
      await watch.stop();
    }
  }, 180_000);

  it("is seen to keep them so once a height may be of any age, each book being right by its own nonce", async () => {
    const watch = await startWatch(SEED + 1, "venuethree", SYMBOLS, (room) => void patient.add(room));
    try {
      const { present } = watch;
      await mute(watch);
      table.push(`planted, any height: ${present.frozenCount} frozen of ${present.claimCount}`);
      expect(present.frozenCount).toBeGreaterThan(0);
      expectEachTrue(watch);
    } finally {
      await watch.stop();
    }
  }, 180_000);
});

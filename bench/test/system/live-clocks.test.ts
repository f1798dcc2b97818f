/**
 * Real rooms against the local venues over loopback, under delayed frames and touches from the future: no old price is
 * called fresh. Each fault runs with the rooms as they are, and with the rule taken out of them: the check finds that,
 * and the comparison of each book with the moment it names does not.
 */
import { afterAll, describe, expect, it } from "vitest";
import { createSystemClock } from "../../../engine/domain/clock.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { ROUTABLE_VENUES, type RoutableVenue } from "../../../engine/domain/venue.js";
import { isTradingRoom, type MarketRoom, type NonceReservations } from "../../../engine/ports.js";
import { ClockOffset } from "../../../feeds/shared/book/clock-offset.js";
import { type Connector, connectWs } from "../../../feeds/shared/net/connector.js";
import { createVenuefourRoom } from "../../../feeds/venuefour/room.js";
import { createVenueoneRoom } from "../../../feeds/venueone/room.js";
import { createVenuethreeRoom } from "../../../feeds/venuethree/room.js";
import { createVenuetwoRoom } from "../../../feeds/venuetwo/room.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { BookChecker } from "../support/book-checker.js";
import { type LocalMarkets, startLocalMarkets } from "../support/local-markets.js";
import { pause, waitUntil } from "../support/system.js";
import { TopChecker } from "../support/top-checker.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_122);
const SYMBOLS = ["BTC"];
const READ_EVERY_MS = 20;
const FIRST_SYNC_DEADLINE_MS = 20_000;
const STRIKE_DEADLINE_MS = 30_000;
/** Longer than a book may be old, its frames late, and a machine busy. */
const HELD_UP_MS = 8_000;
/** Growth of the delay as a share of the time: no connection is silent meanwhile, and no room has cause to leave it. */
const GROWTH = 0.5;
/** Each step exceeds the tolerance of the check; an old price shows from the check's window on until it has arrived. */
const SKEWS_BPS = [60, -60] as const;
const SKEW_EVERY_MS = 8_500;
const FUTURES_MS = [4_500, 30_000] as const;
const ROUNDS = 2;
/** A paused machine breaks connections, which begin again: a planted fault then shows a round later. */
const SEEN_DEADLINE_MS = 200_000;

const NO_NONCES: NonceReservations = { reserve: () => Promise.reject(new Error("not used")) };
const table: string[] = [];
afterAll(() => {
  process.stdout.write(`live clocks, seed ${SEED}\n${table.map((row) => `  ${row}\n`).join("")}`);
});

/** Faults of frames on their way. */
interface Way {
  /** Each frame comes later, in order, answers to pings too, up to HELD_UP_MS, as the delay grows. */
  isHeldUp: boolean;
  /** The next touch has a stamp this many ms ahead; null: its own. */
  aheadMs: number | null;
  aheadCount: number;
}

/** The venue that orders touches by their time. */
const TOUCH_TIMES: Readonly<Partial<Record<RoutableVenue, RegExp>>> = {
  venueone: /"time":\s*(\d+)/,
  venuefour: /"t":\s*(\d+)/,
};

function over(venue: RoutableVenue, way: Way): Connector {
  const time = TOUCH_TIMES[venue];
  const stamped = (data: Buffer): Buffer => {
    const { aheadMs } = way;
    if (time === undefined || aheadMs === null || !data.includes('"channel":"bbo"')) return data;
    way.aheadMs = null;
    way.aheadCount++;
    return Buffer.from(
      data.toString().replace(time, (all, ms: string) => all.replace(ms, String(Number(ms) + aheadMs))),
    );
  };
  return (url, handlers, options) => {
    let isClosed = false;
    let heldUpSinceMs: number | null = null;
    const heldUpMs = (): number => {
      if (!way.isHeldUp) return 0;
      const nowMs = performance.now();
      heldUpSinceMs ??= nowMs;
      return Math.min(HELD_UP_MS, GROWTH * (nowMs - heldUpSinceMs));
    };
    const received = (data: Buffer): void => {
      if (!isClosed) handlers.onMessage(stamped(data));
    };
    return connectWs(
      url,
      {
        onOpen: () => handlers.onOpen(),
        onControl: () => handlers.onControl(),
        onClose: (code, reason) => {
          isClosed = true;
          handlers.onClose(code, reason);
        },
        onMessage: (data) => {
          const ms = heldUpMs();
          if (ms > 0) setTimeout(received, ms, data);
          else received(data);
        },
      },
      options,
    );
  };
}

interface Watch {
  readonly markets: LocalMarkets;
  readonly books: BookChecker;
  readonly tops: TopChecker;
  readonly ways: readonly Way[];
  stop(): Promise<void>;
}

async function startWatch(
  seed: number,
  venues: readonly RoutableVenue[],
  plant: (room: MarketRoom) => void,
): Promise<Watch> {
  const clock = createSystemClock();
  const markets = await startLocalMarkets({ seed, symbols: SYMBOLS, clock, flow: { levelCount: 40 } });
  const ways = venues.map((): Way => ({ isHeldUp: false, aheadMs: null, aheadCount: 0 }));
  const create = {
    venueone: createVenueoneRoom,
    venuetwo: createVenuetwoRoom,
    venuethree: createVenuethreeRoom,
    venuefour: createVenuefourRoom,
  };
  const rooms = venues.map((venue, index) =>
    create[venue]({
      clock,
      random: createSeededRandom(seed),
      logger: silentLogger,
      nonces: NO_NONCES,
      symbols: SYMBOLS,
      isMainnet: true,
      restUrl: markets[venue].restUrl,
      wsUrl: markets[venue].wsUrl,
      connector: over(venue, ways[index] as Way),
    }),
  );
  const books = new BookChecker();
  const tops = new TopChecker(clock);
  let reader: NodeJS.Timeout | null = null;
  const stop = async (): Promise<void> => {
    if (reader !== null) clearInterval(reader);
    await Promise.all(rooms.map((room) => room.stop()));
    await markets.stop();
  };
  try {
    await Promise.all(rooms.map((room) => room.start()));
    for (const room of rooms) {
      plant(room);
      tops.watch(markets[room.venue].exchange, room, room.venue, SYMBOLS);
      const { exchange } = markets[room.venue];
      // Books only: a touch from the future has no truth yet.
      for (const symbol of SYMBOLS) {
        const market = room.markets.get(symbol);
        if (market === undefined) throw new Error(`${room.venue} lists no ${symbol}`);
        books.watchMarket(room.venue, room.venue === "venuethree" ? markets.venuethree : { exchange }, symbol, market);
      }
    }
    await waitUntil("every book LIVE", FIRST_SYNC_DEADLINE_MS, () => books.allLive);
  } catch (error) {
    await stop();
    throw error;
  }
  reader = setInterval(() => tops.sample(), READ_EVERY_MS);
  return { markets, books, tops, ways, stop };
}

/** Moves every market, so that an old price shows. */
async function moveMarkets({ markets }: Watch, venues: readonly RoutableVenue[], round: number): Promise<void> {
  for (const venue of venues)
    markets[venue].exchange.controls.setPriceSkew(SKEWS_BPS[round % SKEWS_BPS.length] ?? 0, 0);
  await pause(SKEW_EVERY_MS);
}

async function holdUp(watch: Watch, venues: readonly RoutableVenue[], round: number): Promise<void> {
  for (const way of watch.ways) way.isHeldUp = true;
  if (round === 0) await pause(HELD_UP_MS / GROWTH);
  await moveMarkets(watch, venues, round);
}

async function stampAhead(watch: Watch, venues: readonly RoutableVenue[], round: number): Promise<void> {
  for (const way of watch.ways) way.aheadMs = FUTURES_MS[round % FUTURES_MS.length] ?? null;
  await waitUntil("a touch from the future", STRIKE_DEADLINE_MS, () =>
    watch.ways.every(({ aheadCount }) => aheadCount > round),
  );
  await moveMarkets(watch, venues, round);
}

const clockOf = (room: MarketRoom): ClockOffset => {
  if (!isTradingRoom(room) || !(room.venueClock instanceof ClockOffset)) throw new Error("no clock offset");
  return room.venueClock;
};

interface Knob {
  readonly name: string;
  readonly venues: readonly RoutableVenue[];
  readonly strike: (watch: Watch, venues: readonly RoutableVenue[], round: number) => Promise<void>;
  /** Takes the rule out of a room. */
  readonly plant: (room: MarketRoom) => void;
}

const KNOBS: readonly Knob[] = [
  {
    name: "held-up frames",
    venues: ROUTABLE_VENUES,
    strike: holdUp,
    plant: (room) => {
      clockOf(room).lateMs = () => 0;
    },
  },
  {
    name: "future stamps",
    venues: ["venueone", "venuefour"],
    strike: stampAhead,
    plant: (room) => {
      clockOf(room).latestMs = () => Number.POSITIVE_INFINITY;
      for (const { touch } of room.markets.values()) {
        const set = touch.set.bind(touch);
        // Makes it count as just received, for ever.
        touch.set = (bidTicks, bidLots, askTicks, askLots, seq, tsVenueMs) =>
          set(bidTicks, bidLots, askTicks, askLots, seq, tsVenueMs, Number.MAX_SAFE_INTEGER);
      }
    },
  },
];

describe.concurrent("prices that are called fresh", () => {
  for (const [index, { name, venues, strike, plant }] of KNOBS.entries()) {
    it(`are so under ${name}`, async () => {
      const watch = await startWatch(SEED + index, venues, () => {});
      try {
        for (let round = 0; round < ROUNDS; round++) await strike(watch, venues, round);
        const { tops } = watch;
        table.push(`${name}: ${tops.staleCount} stale of ${tops.claimCount} looks at what was called fresh`);
        expect(tops.problems).toEqual([]);
        expect(tops.claimCount).toBeGreaterThan(0);
      } finally {
        await watch.stop();
      }
    }, 300_000);

    it(`are seen not to be under ${name} once the rule is out; each book by itself is right all the same`, async () => {
      const watch = await startWatch(SEED + index, venues, plant);
      try {
        const { books, tops } = watch;
        const isSeen = (): boolean => tops.staleVenues.size === venues.length;
        const sinceMs = performance.now();
        for (let round = 0; !isSeen() && performance.now() - sinceMs < SEEN_DEADLINE_MS; round++)
          await strike(watch, venues, round);
        table.push(
          `planted, ${name}: ${tops.staleCount} stale of ${tops.claimCount}, ${books.counts().differenceCount} differences`,
        );
        expect([...tops.staleVenues].sort()).toEqual([...venues].sort());
        expect(books.differences).toEqual([]);
        expect(books.counts().unjudgedCount).toBe(0);
      } finally {
        await watch.stop();
      }
    }, 300_000);
  }
});

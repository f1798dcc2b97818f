/**
 * Real rooms against the local venues over loopback, while the venues' lists change in each venue's own way: a market
 * is halted, opened, put on a finer and a coarser grid, given another minimum, dropped and listed. The test runs the
 * rooms as they are, and with each of three rules taken out of them: the check of the listing finds that, and the
 * comparison of each book with the moment it names does not.
 *
 * Only the wait for the next list is shortened.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { type Clock, createSystemClock } from "../../../engine/domain/clock.js";
import type { Instrument } from "../../../engine/domain/instrument.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { ROUTABLE_VENUES, type RoutableVenue } from "../../../engine/domain/venue.js";
import type { Market } from "../../../engine/market/market.js";
import type { MarketRoom, NonceReservations } from "../../../engine/ports.js";
import { createVenuefourRoom } from "../../../feeds/venuefour/room.js";
import { MarketStream as VenuefourStream } from "../../../feeds/venuefour/market/stream.js";
import { createVenueoneRoom } from "../../../feeds/venueone/room.js";
import { MarketStream as VenueoneStream } from "../../../feeds/venueone/market/stream.js";
import { createVenuethreeRoom } from "../../../feeds/venuethree/room.js";
import { MarketStream as VenuethreeStream } from "../../../feeds/venuethree/market/stream.js";
import { createVenuetwoRoom } from "../../../feeds/venuetwo/room.js";
import { MarketStream as VenuetwoStream } from "../../../feeds/venuetwo/market/stream.js";
import type { ListingChange } from "../../sim/core/engine/listing-change.js";
import type { SimInstrument } from "../../sim/core/model/types.js";
import { BookChecker } from "../support/book-checker.js";
import { ListingChecker, type RuleBreach } from "../support/listing-checker.js";
import { type LocalMarkets, startLocalMarkets } from "../support/local-markets.js";
import { nativeName } from "../support/local-venues.js";
import { pause, waitUntil } from "../support/system.js";

/** Symbols whose two scales the room takes for one, or of which it returns no stream. */
const planted = vi.hoisted(() => ({ sameScale: "", kept: "" }));
vi.mock(import("../../../engine/domain/instrument.js"), async (load) => {
  const original = await load();
  return {
    ...original,
    isSameScale: (left: Instrument, right: Instrument): boolean =>
      left.symbol === planted.sameScale || original.isSameScale(left, right),
  };
});

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_124);
const DEADLINE_MS = 60_000;
/**
 * Ten seconds and more: several times what the slowest room needs for its list and its book. Counted in samples,
 * because a paused machine stops rooms and samples alike.
 */
const ADOPTED_LOOKS = 500;
/** Time for which an adopted market is checked. */
const HELD_MS = 600;
const READ_EVERY_MS = 20;
/** Waits for the next list, and their divisors. */
const LIST_EVERY_MS: Readonly<Record<RoutableVenue, number>> = {
  venueone: 30_000,
  venuetwo: 15_000,
  venuethree: 30_000,
  venuefour: 60_000,
};
const LISTED_EVERY_MS = 2_000;
const UNTOUCHED = "BTC";
const LISTED_LATER = "LINK";

const NO_NONCES: NonceReservations = { reserve: () => Promise.reject(new Error("not used")) };
const table: string[] = [];
afterAll(() => {
  process.stdout.write(`live listings, seed ${SEED}\n${table.map((row) => `  ${row}\n`).join("")}`);
});

/** The system's clock, on which a wait for the list is short, or never ends. */
function listClock(venue: RoutableVenue, isPolled: boolean): Clock {
  const clock = createSystemClock();
  const setTimer: Clock["setTimer"] = (callback, delayMs) =>
    delayMs === LIST_EVERY_MS[venue]
      ? clock.setTimer(isPolled ? callback : () => {}, LISTED_EVERY_MS)
      : clock.setTimer(callback, delayMs);
  return { wallMs: () => clock.wallMs(), monoNs: () => clock.monoNs(), clearTimer: clock.clearTimer, setTimer };
}

interface Watch {
  readonly markets: LocalMarkets;
  readonly rooms: readonly MarketRoom[];
  readonly books: BookChecker;
  readonly listings: readonly ListingChecker[];
  stop(): Promise<void>;
}

/** `halted`: venues whose changing market is compared too, while only its status changes. */
async function startWatch(
  seed: number,
  changed: string,
  isPolled: boolean,
  halted: readonly RoutableVenue[],
): Promise<Watch> {
  const symbols = [UNTOUCHED, changed, LISTED_LATER];
  const markets = await startLocalMarkets({ seed, symbols, flow: { levelCount: 40 } });
  const create = {
    venueone: createVenueoneRoom,
    venuetwo: createVenuetwoRoom,
    venuethree: createVenuethreeRoom,
    venuefour: createVenuefourRoom,
  };
  for (const venue of ROUTABLE_VENUES)
    await markets[venue].changeListing(nativeName(venue, LISTED_LATER), { isListed: false });
  const rooms = ROUTABLE_VENUES.map((venue) =>
    create[venue]({
      clock: listClock(venue, isPolled),
      random: createSeededRandom(seed),
      logger: silentLogger,
      nonces: NO_NONCES,
      symbols,
      isMainnet: true,
      restUrl: markets[venue].restUrl,
      wsUrl: markets[venue].wsUrl,
    }),
  );
  const books = new BookChecker();
  const listings = rooms.map((room) => new ListingChecker(room, markets[room.venue].exchange));
  let reader: NodeJS.Timeout | null = null;
  const stop = async (): Promise<void> => {
    if (reader !== null) clearInterval(reader);
    await Promise.all(rooms.map((room) => room.stop()));
    await markets.stop();
  };
  try {
    await Promise.all(rooms.map((room) => room.start()));
    books.watch(markets, rooms, [UNTOUCHED]);
    books.watch(
      markets,
      rooms.filter(({ venue }) => halted.includes(venue)),
      [changed],
    );
    await waitUntil("the books LIVE", DEADLINE_MS, () =>
      listings.every((listing) => listing.isStreamed(UNTOUCHED) && listing.isStreamed(changed)),
    );
  } catch (error) {
    await stop();
    throw error;
  }
  reader = setInterval(() => books.sample(), READ_EVERY_MS);
  return { markets, rooms, books, listings, stop };
}

/** Returns whether it holds within ADOPTED_LOOKS. */
async function comes(condition: () => boolean): Promise<boolean> {
  for (let lookCount = 0; !condition(); lookCount++) {
    if (lookCount === ADOPTED_LOOKS) return false;
    await pause(READ_EVERY_MS);
  }
  return true;
}

/**
 * The present grid in the venue's terms, made finer by so many decimals. On venueone the size decimals decide all of
 * it.
 */
function gridOf(venue: RoutableVenue, instrument: SimInstrument, finerBy: 0 | 1): ListingChange {
  const { priceStepTicks, priceDecimals, qtyStepLots, qtyDecimals } = instrument;
  if (venue === "venueone") return { qtyStep: (10 ** (finerBy - qtyDecimals)).toFixed(qtyDecimals - finerBy) };
  const step = (count: number, decimals: number): string => (count / 10 ** decimals).toFixed(decimals);
  return {
    priceStep: step(priceStepTicks, priceDecimals + finerBy),
    qtyStep: step(qtyStepLots, qtyDecimals + finerBy),
  };
}

/** A minimum of twenty of the quote asset, or of a hundred lots. */
function minimumOf(venue: RoutableVenue, { qtyDecimals }: SimInstrument): ListingChange {
  if (venue === "venueone") return {};
  return { minimum: venue === "venuethree" ? (100 / 10 ** qtyDecimals).toFixed(qtyDecimals) : "20" };
}

function hasMinimum(room: MarketRoom, symbol: string): boolean {
  const instrument = room.markets.get(symbol)?.instrument;
  if (instrument === undefined) return false;
  if (room.venue === "venueone") return true;
  return room.venue === "venuethree" ? instrument.restingMinimum?.qtyLots === 100 : instrument.minNotional === "20";
}

/** Plays all changes at one venue. Returns whether the room followed each. */
async function play({ markets, rooms, books }: Watch, listing: ListingChecker, symbol: string): Promise<boolean> {
  const { venue } = listing;
  const room = rooms.find((candidate) => candidate.venue === venue) as MarketRoom;
  const native = nativeName(venue, symbol);
  const before = { ...(markets[venue].exchange.instruments.get(native) as SimInstrument) };
  const change = (what: ListingChange): Promise<void> => markets[venue].changeListing(native, what);

  async function isHalted(text: string): Promise<boolean> {
    let isHeld = await comes(() => !listing.isRoutable(symbol));
    for (
      const startedMs = performance.now();
      isHeld && performance.now() - startedMs < HELD_MS;
      await pause(READ_EVERY_MS)
    )
      isHeld = !listing.isRoutable(symbol);
    if (!isHeld) listing.breach("routable", text);
    return isHeld;
  }
  async function isOpen(streamed: string, text: string): Promise<boolean> {
    const isStreamed = await comes(() => listing.isStreamed(streamed));
    if (!isStreamed) listing.breach("unstreamed", text);
    return isStreamed;
  }
  async function isOnGrid(text: string): Promise<boolean> {
    let problem: string | null = null;
    const isTaken = await comes(() => {
      problem = listing.gridProblem(symbol);
      return problem === null;
    });
    if (!isTaken) listing.breach("off grid", `${text}: ${problem ?? ""}`);
    if (!(await isOpen(symbol, text)) || !isTaken) return false;
    for (const startedMs = performance.now(); performance.now() - startedMs < HELD_MS; await pause(READ_EVERY_MS)) {
      problem = listing.gridProblem(symbol);
      if (problem === null) continue;
      listing.breach("off grid", `${text}: ${problem}`);
      return false;
    }
    return true;
  }

  await change({ isTrading: false });
  await markets[venue].changeListing(nativeName(venue, LISTED_LATER), { isListed: true });
  const isFirstTaken = (await Promise.all([isHalted("halted"), isOpen(LISTED_LATER, "listed")])).every(Boolean);
  await change({ isTrading: true });
  if (!(await isOpen(symbol, "reopened")) || !isFirstTaken) return false;
  await change(gridOf(venue, before, 1));
  if (!(await isOnGrid("a finer grid"))) return false;
  await change({ ...gridOf(venue, before, 0), ...minimumOf(venue, before) });
  if (!(await isOnGrid("a coarser grid"))) return false;
  if (!(await comes(() => hasMinimum(room, symbol)))) {
    listing.breach("off grid", "the minimum of before");
    return false;
  }
  await change({ isListed: false });
  if (!(await isHalted("delisted"))) return false;
  await change({ isListed: true });
  if (!(await isOpen(symbol, "listed again"))) return false;
  const market = room.markets.get(symbol) as Market;
  books.watchMarket(venue, venue === "venuethree" ? markets.venuethree : markets[venue], symbol, market);
  await pause(HELD_MS);
  return true;
}

interface Outcome {
  readonly followed: readonly RoutableVenue[];
  readonly breaches: ReadonlyMap<RoutableVenue, ReadonlySet<RuleBreach>>;
}

async function playAll(name: string, watch: Watch, symbol: string): Promise<Outcome> {
  const { listings, books } = watch;
  const played = await Promise.all(listings.map((listing) => play(watch, listing, symbol)));
  const levels = listings.reduce((sum, { levelCount }) => sum + levelCount, 0);
  table.push(`${name}: ${levels} levels on the grid, ${books.counts().differenceCount} differences`);
  for (const { problems } of listings) for (const problem of problems) table.push(`  ${problem}`);
  // Each book was right when compared with its own moment.
  expect(books.differences).toEqual([]);
  expect(books.counts().unjudgedCount).toBe(0);
  return {
    followed: ROUTABLE_VENUES.filter((_, index) => played[index] === true),
    breaches: new Map(listings.map(({ venue, breaches }) => [venue, breaches])),
  };
}

/**
 * Venues whose market keeps its book when it is halted; venuethree makes another, and its stream replaces the one kept.
 */
const WITH_ONE_BOOK = ["venueone", "venuetwo", "venuefour"] as const;
/** The streams' ways to stop streaming a market: by its object, or by the venue's name. */
const STREAMS = [VenueoneStream, VenuetwoStream, VenuethreeStream, VenuefourStream].map(({ prototype }) => prototype);

describe.concurrent("a listing that changes", () => {
  const removals = STREAMS.map((prototype) => prototype.remove);
  beforeAll(() => {
    planted.sameScale = "BNB";
    planted.kept = "SOL";
    for (const [index, prototype] of STREAMS.entries()) {
      const remove = removals[index] as (this: unknown, what: unknown) => void;
      prototype.remove = function (what: unknown): void {
        const native = typeof what === "string" ? what : (what as { instrument: Instrument }).instrument.nativeSymbol;
        if (!native.startsWith(planted.kept)) remove.call(this, what);
      };
    }
  });
  afterAll(() => {
    for (const [index, prototype] of STREAMS.entries()) prototype.remove = removals[index] as typeof prototype.remove;
  });

  it("is followed by each room: halts, grids, minimums, listing and delisting", async () => {
    const watch = await startWatch(SEED, "ETH", true, []);
    try {
      const { followed } = await playAll("as it is", watch, "ETH");
      expect(watch.listings.flatMap(({ problems }) => problems)).toEqual([]);
      expect(followed).toEqual([...ROUTABLE_VENUES]);
      for (const { levelCount } of watch.listings) expect(levelCount).toBeGreaterThan(0);
    } finally {
      await watch.stop();
    }
  }, 180_000);

  it("is seen not to be, once the list is not read again", async () => {
    const watch = await startWatch(SEED + 1, "ETH", false, ROUTABLE_VENUES);
    try {
      const { breaches } = await playAll("planted, no poll", watch, "ETH");
      for (const venue of ROUTABLE_VENUES) {
        expect([venue, ...(breaches.get(venue) ?? [])]).toContain("routable");
        expect([venue, ...(breaches.get(venue) ?? [])]).toContain("unstreamed");
      }
    } finally {
      await watch.stop();
    }
  }, 180_000);

  it("is seen not to be, once streams are not given back", async () => {
    const watch = await startWatch(SEED + 2, "SOL", true, WITH_ONE_BOOK);
    try {
      const { breaches, followed } = await playAll("planted, streams kept", watch, "SOL");
      for (const venue of WITH_ONE_BOOK) expect([venue, ...(breaches.get(venue) ?? [])]).toContain("routable");
      // venuethree's may be followed: its stream is not returned either, but a new one replaces it, or comes too late
      // for it.
      expect(WITH_ONE_BOOK.filter((venue) => followed.includes(venue))).toEqual([]);
    } finally {
      await watch.stop();
    }
  }, 180_000);

  it("is seen not to be, once a market is restated on another scale", async () => {
    const watch = await startWatch(SEED + 3, "BNB", true, []);
    try {
      const { breaches, followed } = await playAll("planted, restated", watch, "BNB");
      expect(followed).toEqual([]);
      // Its book is read in the new scale; those of the others are unreadable on the earlier grid.
      expect([...(breaches.get("venueone") ?? [])]).toContain("off grid");
    } finally {
      await watch.stop();
    }
  }, 180_000);
});

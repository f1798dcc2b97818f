/**
 * Real rooms against the local venues over loopback, which read the list and do not adopt it: the check of the listing
 * finds that on each venue, and the comparison of each book with the moment it names does not. Then the same rooms
 * adopt the next change, and the check finds nothing (live-listings.test.ts plays every kind of change).
 *
 * Only the wait for the next list is shortened.
 */
import { afterEach, expect, it, vi } from "vitest";
import { type Clock, createSystemClock } from "../../../engine/domain/clock.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { ROUTABLE_VENUES, type RoutableVenue } from "../../../engine/domain/venue.js";
import type { NonceReservations } from "../../../engine/ports.js";
import { VenuefourMarkets } from "../../../feeds/venuefour/market/listing.js";
import { createVenuefourRoom } from "../../../feeds/venuefour/room.js";
import { VenueoneMarkets } from "../../../feeds/venueone/market/listing.js";
import { createVenueoneRoom } from "../../../feeds/venueone/room.js";
import { VenuethreeMarkets } from "../../../feeds/venuethree/market/listing.js";
import { createVenuethreeRoom } from "../../../feeds/venuethree/room.js";
import { VenuetwoMarkets } from "../../../feeds/venuetwo/market/listing.js";
import { createVenuetwoRoom } from "../../../feeds/venuetwo/room.js";
import { BookChecker } from "../support/book-checker.js";
import { ListingChecker } from "../support/listing-checker.js";
import { startLocalMarkets } from "../support/local-markets.js";
import { nativeName } from "../support/local-venues.js";
import { waitUntil } from "../support/system.js";

const SEED = Number(process.env.FUZZ_SEED ?? 20_261_125);
const DEADLINE_MS = 60_000;
const READ_EVERY_MS = 20;
/** Waits for the next list, and the shorter ones in their place. */
const LIST_EVERY_MS: Readonly<Record<RoutableVenue, number>> = {
  venueone: 30_000,
  venuetwo: 15_000,
  venuethree: 30_000,
  venuefour: 60_000,
};
const LISTED_EVERY_MS = 500;
const [UNTOUCHED, HALTED, LISTED_LATER] = ["BTC", "ETH", "LINK"] as const;
const SYMBOLS = [UNTOUCHED, HALTED, LISTED_LATER];

const NO_NONCES: NonceReservations = { reserve: () => Promise.reject(new Error("not used")) };
const CREATE = {
  venueone: createVenueoneRoom,
  venuetwo: createVenuetwoRoom,
  venuethree: createVenuethreeRoom,
  venuefour: createVenuefourRoom,
};

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const close of closers.splice(0).reverse()) await close();
});

function listClock(venue: RoutableVenue): Clock {
  const clock = createSystemClock();
  const setTimer: Clock["setTimer"] = (callback, delayMs) =>
    clock.setTimer(callback, delayMs === LIST_EVERY_MS[venue] ? LISTED_EVERY_MS : delayMs);
  return { wallMs: () => clock.wallMs(), monoNs: () => clock.monoNs(), clearTimer: clock.clearTimer, setTimer };
}

const MARKETS: Readonly<Record<RoutableVenue, object>> = {
  venueone: VenueoneMarkets.prototype,
  venuetwo: VenuetwoMarkets.prototype,
  venuethree: VenuethreeMarkets.prototype,
  venuefour: VenuefourMarkets.prototype,
};

/** Makes the rooms read every list and adopt none from now on. Returns how many each room has read since. */
function adoptNothing(): (venue: RoutableVenue) => number {
  const counts = new Map<RoutableVenue, number>();
  for (const venue of ROUTABLE_VENUES)
    vi.spyOn(MARKETS[venue] as { adopt(): void }, "adopt").mockImplementation(() => {
      counts.set(venue, (counts.get(venue) ?? 0) + 1);
    });
  return (venue) => counts.get(venue) ?? 0;
}

it("a list that is read and not adopted is seen on each venue by the check of the listing alone", async () => {
  const markets = await startLocalMarkets({ seed: SEED, symbols: SYMBOLS, flow: { levelCount: 40 } });
  closers.push(() => markets.stop());
  const list = async (isOther: boolean): Promise<void> => {
    for (const venue of ROUTABLE_VENUES) {
      await markets[venue].changeListing(nativeName(venue, LISTED_LATER), { isListed: isOther });
      await markets[venue].changeListing(nativeName(venue, HALTED), { isTrading: !isOther });
    }
  };
  await list(false);
  const rooms = ROUTABLE_VENUES.map((venue) =>
    CREATE[venue]({
      clock: listClock(venue),
      random: createSeededRandom(SEED),
      logger: silentLogger,
      nonces: NO_NONCES,
      symbols: SYMBOLS,
      isMainnet: true,
      restUrl: markets[venue].restUrl,
      wsUrl: markets[venue].wsUrl,
    }),
  );
  closers.push(async () => void (await Promise.all(rooms.map((room) => room.stop()))));
  await Promise.all(rooms.map((room) => room.start()));
  const books = new BookChecker();
  books.watch(markets, rooms, [UNTOUCHED]);
  const listings = rooms.map((room) => new ListingChecker(room, markets[room.venue].exchange));
  const areStreamed = (...symbols: readonly string[]): boolean =>
    listings.every((listing) => symbols.every((symbol) => listing.isStreamed(symbol)));
  await waitUntil("the books LIVE", DEADLINE_MS, () => areStreamed(UNTOUCHED, HALTED));
  const reader = setInterval(() => books.sample(), READ_EVERY_MS);
  closers.push(async () => clearInterval(reader));

  const readsOf = adoptNothing();
  await list(true);
  const before = new Map(ROUTABLE_VENUES.map((venue) => [venue, readsOf(venue)]));
  // One list may have been on its way. venuetwo's room ignores a list that equals the one before, so any that it reads
  // is of the change.
  await waitUntil("the lists read", DEADLINE_MS, () =>
    ROUTABLE_VENUES.every((venue) => readsOf(venue) >= (venue === "venuetwo" ? 1 : (before.get(venue) ?? 0) + 2)),
  );
  for (const listing of listings) {
    if (listing.isRoutable(HALTED)) listing.breach("routable", "halted");
    if (!listing.isStreamed(LISTED_LATER)) listing.breach("unstreamed", "listed");
  }
  expect(listings.map(({ venue, breaches }) => [venue, ...breaches])).toEqual(
    ROUTABLE_VENUES.map((venue) => [venue, "routable", "unstreamed"]),
  );
  expect(books.differences).toEqual([]);
  expect(books.counts().unjudgedCount).toBe(0);

  vi.restoreAllMocks();
  // venuetwo's room compares each list with the one before, and this one differs.
  for (const venue of ROUTABLE_VENUES)
    await markets[venue].changeListing(nativeName(venue, HALTED), { isListed: false });
  await waitUntil("the next list adopted", DEADLINE_MS, () =>
    listings.every((listing) => listing.isStreamed(LISTED_LATER) && !listing.isRoutable(HALTED)),
  );
}, 180_000);

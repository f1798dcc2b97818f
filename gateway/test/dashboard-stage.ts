/**
 * The real server around four scripted rooms, for the page: prices are constant until a test moves them, books are
 * loaded again and again as live ones are, and nothing ages while the machine is stopped. The service can be
 * stopped and started on the same port.
 */
import { createServer as createTcpServer } from "node:net";
import { createSystemClock } from "../../engine/domain/clock.js";
import { createSeededRandom, type Random } from "../../engine/domain/random.js";
import { ROUTABLE_VENUES, type RoutableVenue } from "../../engine/domain/venue.js";
import { INVALID_DISCONNECTED } from "../../engine/market/book.js";
import type { FeedState, Market } from "../../engine/market/market.js";
import { createFakeRoom, type FakeRoom, fakeMarket, loadBook } from "./fake-room.js";
import { type HarnessOptions, PROVEN_AHEAD_NS, startHarness } from "./harness.js";
import { anInstrument } from "../../engine/domain/test/instruments.js";

/** Listed by the first room alone: what a page does with it shows whether texts are texts. */
export const HOSTILE_SYMBOL = "<IMG SRC=X ONERROR=ALERT(1)>";
const LEVELS = 120;
/** Well inside the age a book may have. */
const PROOF_MS = 400;
const MID_TICKS = 974_180;
/** Ticks by which a venue's mid lies off the common one. */
const OFFSETS: Readonly<Record<RoutableVenue, number>> = { venueone: 0, venuetwo: -6, venuethree: 5, venuefour: -2 };
const SIZES: Readonly<Record<RoutableVenue, number>> = {
  venueone: 900,
  venuetwo: 2600,
  venuethree: 1500,
  venuefour: 420,
};

export interface Stage {
  readonly url: string;
  readonly rooms: Readonly<Record<RoutableVenue, FakeRoom>>;
  market(venue: RoutableVenue, symbol?: string): Market;
  setMark(venue: RoutableVenue, markPrice: string): void;
  setState(venue: RoutableVenue, state: FeedState): void;
  stopServer(): Promise<void>;
  startServer(): Promise<void>;
  stop(): Promise<void>;
}

/** `wallets`: server wallets, beside what every stage has. */
export async function startStage(dashboardFolder: string, wallets?: HarnessOptions["wallets"]): Promise<Stage> {
  const clock = createSystemClock();
  const random = createSeededRandom(7);
  const rooms = Object.fromEntries(
    ROUTABLE_VENUES.map((venue) => [venue, createFakeRoom(venue, marketsOf(venue), () => clock.wallMs())]),
  ) as Record<RoutableVenue, FakeRoom>;
  const market = (venue: RoutableVenue, symbol = "BTC") => rooms[venue].markets.get(symbol) as Market;
  const shapes = new Map(
    ROUTABLE_VENUES.flatMap((venue) => [...rooms[venue].markets.values()]).map((one) => [one, shapeOf(one, random)]),
  );

  function prove(): void {
    for (const venue of ROUTABLE_VENUES) {
      if (rooms[venue].status().state !== "LIVE") continue;
      for (const one of rooms[venue].markets.values()) {
        const { bids, asks } = shapes.get(one) as Shape;
        loadBook(one.book, bids, asks, clock.monoNs() + PROVEN_AHEAD_NS, one.book.seq + 1, clock.wallMs());
      }
    }
  }
  prove();
  for (const [index, venue] of ROUTABLE_VENUES.entries()) fillTicker(market(venue), index, clock);
  const proving = setInterval(prove, PROOF_MS);

  // A port of its own from the start: only such a one can be listened on again at once.
  const server = { port: await freePort(), dashboardFolder };
  const start = () =>
    startHarness({
      rooms: ROUTABLE_VENUES.map((venue) => rooms[venue]),
      server,
      ...(wallets === undefined ? {} : { wallets }),
    });
  let harness = await start();
  return {
    url: harness.server.url,
    rooms,
    market,
    setMark(venue, markPrice) {
      const { ticker } = market(venue);
      ticker.markPrice = markPrice;
      ticker.stamp(clock.wallMs(), clock.monoNs() + PROVEN_AHEAD_NS);
    },
    setState(venue, state) {
      rooms[venue].statusOverrides = { state };
      if (state !== "LIVE") for (const one of rooms[venue].markets.values()) one.book.invalidate(INVALID_DISCONNECTED);
    },
    stopServer: () => harness.stop(),
    async startServer() {
      harness = await start();
    },
    async stop() {
      clearInterval(proving);
      await harness.stop();
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createTcpServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === "object" && address !== null ? resolve(address.port) : reject(new Error("no port")),
      );
    });
  });
}

function marketsOf(venue: RoutableVenue): Market[] {
  const symbols = venue === "venuefour" ? ["BTC"] : ["BTC", "ETH"];
  if (venue === "venueone") symbols.push(HOSTILE_SYMBOL);
  // The cheapest to take at wins at small sizes.
  const takerFeeMilliBps = venue === "venueone" ? 4_500 : 5_000;
  return symbols.map((symbol) => fakeMarket(anInstrument({ venue, symbol, takerFeeMilliBps })));
}

interface Shape {
  readonly bids: readonly (readonly [number, number])[];
  readonly asks: readonly (readonly [number, number])[];
}

/** Steps and sizes of a real book's look; the best levels are a tick apart from the venue's own mid. */
function shapeOf({ instrument }: Market, random: Random): Shape {
  const mid = instrument.symbol === "BTC" ? MID_TICKS + OFFSETS[instrument.venue] : 31_002;
  const side = (direction: 1 | -1) => {
    let ticks = mid + direction * 2;
    return Array.from({ length: LEVELS }, (_, index) => {
      const lots = Math.ceil(SIZES[instrument.venue] * (0.15 + random.next() ** 3 * 2) * (1 + index / 40));
      const level = [ticks, lots] as const;
      ticks += direction * (1 + Math.floor(random.next() ** 2 * 9));
      return level;
    });
  };
  return { bids: side(-1), asks: side(1) };
}

function fillTicker(
  { ticker, instrument }: Market,
  index: number,
  clock: { wallMs(): number; monoNs(): number },
): void {
  Object.assign(ticker, {
    markPrice: ["97418.3", "97417.15", "97419.1", "97417.90"][index],
    lastPrice: ["97418", "97417.4", "97418.9", "97418.1"][index],
    prevDayPrice: ["96000", "96010.0", "98012.2", "96003.5"][index],
    volume24h: ["1234567890.12", "3987654321.5", "712345678.9", "91234567.2"][index],
    fundingRate: ["0.0000125", "0.00010000", "-0.0000191", "0.0000208"][index],
    openInterest: "24310.5",
    fundingIntervalHours: instrument.venue === "venuetwo" ? 8 : 1,
  });
  ticker.stamp(clock.wallMs(), clock.monoNs());
}

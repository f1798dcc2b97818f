/** The listing of a running room: what the venue lists, halts, reopens, changes and drops while the room runs. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Instrument } from "../../../engine/domain/instrument.js";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import type { Market } from "../../../engine/market/market.js";
import type { VenueRoom } from "../../../engine/ports.js";
import { FakeNetwork } from "../../shared/test/fake-connector.js";
import { untilHolds, untilSettled } from "../../shared/test/http-time.js";
import { createMemoryReservations } from "../../shared/test/memory-reservations.js";
import { createVenuetwoRoom } from "../room.js";
import { ListedVenue } from "../test/listed-venue.js";

/** Stated in the room's README: what the venue lists is known by then. */
const LISTED_WITHIN_MS = 16_000;

let clock: VirtualClock;
let venue: ListedVenue;
let network: FakeNetwork;
let room: VenueRoom;

beforeEach(async () => {
  clock = new VirtualClock();
  venue = new ListedVenue(clock);
  network = new FakeNetwork();
  room = createVenuetwoRoom({
    restUrl: await venue.listen(),
    wsUrl: "ws://venue",
    isMainnet: true,
    symbols: ["BTC", "ETH", "SAND"],
    clock,
    random: createSeededRandom(1),
    logger: silentLogger,
    nonces: createMemoryReservations(),
    connector: network.connector,
  });
  await untilSettled(clock, room.start());
  network.last.open();
});
afterEach(async () => {
  await room.stop();
  venue.close();
});

function marketOf(symbol: string): Market {
  const market = room.markets.get(symbol);
  if (market === undefined) throw new Error(`no market of ${symbol}`);
  return market;
}

/** Lets the venue answer and speak, every 50 ms, until it holds. */
function until(condition: () => boolean): Promise<void> {
  let spokeMs = 0;
  return untilHolds(clock, () => {
    if (clock.wallMs() - spokeMs >= 50) {
      spokeMs = clock.wallMs();
      for (const connection of network.connections) {
        if (connection.isEnded) continue;
        venue.acknowledge(connection);
        for (const symbol of ["BTCUSDT", "ETHUSDT"]) connection.receive(venue.diff(symbol));
      }
    }
    return condition();
  });
}

const untilLive = (...symbols: string[]): Promise<void> =>
  until(() => symbols.every((symbol) => marketOf(symbol).book.state === BOOK_LIVE));

async function pass(ms: number): Promise<void> {
  const endMs = clock.wallMs() + ms;
  await until(() => clock.wallMs() >= endMs);
}

function asked(text: string): number {
  return network.connections.reduce((sum, { sent }) => sum + sent.filter((line) => line.includes(text)).length, 0);
}

describe("a listing that changes while the room runs", () => {
  it("halts a market that stops trading: no book to route by, its streams given back, still in the map", async () => {
    await untilLive("BTC", "ETH");
    venue.row("BTCUSDT").status = "SETTLING";
    await pass(LISTED_WITHIN_MS);
    const btc = marketOf("BTC");
    expect([btc.instrument.status, btc.book.state === BOOK_LIVE, btc.touch.present]).toEqual(["HALTED", false, false]);
    expect(room.instruments?.get("BTC")).toBe(btc.instrument);
    expect(asked('"UNSUBSCRIBE","params":["btcusdt@depth@100ms"')).toBe(1);
    // Late frames of what was given back change nothing, and the other book stays LIVE.
    expect(marketOf("ETH").book.state).toBe(BOOK_LIVE);
    await pass(3_000);
    expect(btc.book.state).not.toBe(BOOK_LIVE);
  });

  it("streams a market that opens", async () => {
    await untilLive("BTC");
    expect(marketOf("SAND").instrument.status).toBe("HALTED");
    venue.row("SANDUSDT").status = "TRADING";
    venue.priceTexts.set("SANDUSDT", ["0.5000", "0.5001"]);
    await pass(LISTED_WITHIN_MS);
    expect(marketOf("SAND").instrument.status).toBe("TRADING");
    await untilLive("SAND");
  });

  it("reopens a market that was halted, with a book of its own again", async () => {
    await untilLive("BTC");
    venue.row("BTCUSDT").status = "PRE_SETTLE";
    await until(() => marketOf("BTC").instrument.status === "HALTED");
    venue.row("BTCUSDT").status = "TRADING";
    await until(() => marketOf("BTC").instrument.status === "TRADING");
    await untilLive("BTC");
    expect(marketOf("BTC").book.bidTicks(0)).toBe(1_000);
  });

  it("takes a finer tick: the book is on the new grid, and few snapshots were asked for", async () => {
    await untilLive("BTC", "ETH");
    const before = venue.count("/fapi/v1/depth?symbol=BTCUSDT");
    venue.row("BTCUSDT").pricePrecision = 2;
    venue.filter("BTCUSDT", "PRICE_FILTER")["tickSize"] = "0.01";
    venue.priceTexts.set("BTCUSDT", ["100.01", "100.02"]);
    await until(() => marketOf("BTC").instrument.priceDecimals === 2);
    await untilLive("BTC");
    expect([marketOf("BTC").book.bidTicks(0), marketOf("BTC").book.askTicks(0)]).toEqual([10_001, 10_002]);
    expect(marketOf("ETH").book.state).toBe(BOOK_LIVE);
    expect(venue.count("/fapi/v1/depth?symbol=BTCUSDT") - before).toBeLessThanOrEqual(3);
  });

  it("asks for few snapshots while prices do not fit the grid that the venue still lists", async () => {
    await untilLive("BTC", "ETH");
    const before = venue.count("/fapi/v1/depth?symbol=BTCUSDT");
    venue.priceTexts.set("BTCUSDT", ["100.01", "100.02"]);
    await pass(50_000);
    expect(marketOf("BTC").book.state).not.toBe(BOOK_LIVE);
    expect(marketOf("ETH").book.state).toBe(BOOK_LIVE);
    // 20 of weight each; there were 29.
    expect(venue.count("/fapi/v1/depth?symbol=BTCUSDT") - before).toBeLessThanOrEqual(4);
  });

  it("takes another lot, minimum and notional without losing the book", async () => {
    await untilLive("BTC");
    const { book } = marketOf("BTC");
    const states: boolean[] = [];
    marketOf("BTC").signal.listen({
      bookChanged: () => void states.push(book.state === BOOK_LIVE),
      deepChanged() {},
      touchChanged() {},
      tickerChanged() {},
      traded() {},
    });
    Object.assign(venue.filter("BTCUSDT", "LOT_SIZE"), { stepSize: "0.002", minQty: "0.004" });
    venue.filter("BTCUSDT", "MIN_NOTIONAL")["notional"] = "25";
    await pass(LISTED_WITHIN_MS);
    const expected: Partial<Instrument> = { qtyStepLots: 2, minQtyLots: 4, minNotional: "25", status: "TRADING" };
    expect(marketOf("BTC").instrument).toMatchObject(expected);
    expect(room.instruments?.get("BTC")).toBe(marketOf("BTC").instrument);
    expect(marketOf("BTC").book).toBe(book);
    expect(states.length).toBeGreaterThan(100);
    expect(states).not.toContain(false);
  });

  it("keeps a delisted market in the map, halted, so that a position in it stays visible", async () => {
    await untilLive("BTC", "ETH");
    venue.rows = venue.rows.filter(({ symbol }) => symbol !== "BTCUSDT");
    await pass(LISTED_WITHIN_MS);
    expect([marketOf("BTC").instrument.status, marketOf("BTC").book.state === BOOK_LIVE]).toEqual(["HALTED", false]);
    expect(room.instruments?.get("BTC")?.status).toBe("HALTED");
    expect(marketOf("ETH").book.state).toBe(BOOK_LIVE);
  });

  it("stays with the contract of a symbol while it is listed, whatever else is", async () => {
    await untilLive("BTC", "ETH");
    // Settled in a better quote than ETHUSDT has, and one of the same asset that trades while BTCUSDT does not.
    venue.row("ETHUSDT").quoteAsset = "USDC";
    venue.rows = [...venue.rows, { ...venue.row("BTCUSDT"), symbol: "BTCUSDC", quoteAsset: "USDC" }];
    venue.row("BTCUSDT").status = "SETTLING";
    await pass(LISTED_WITHIN_MS);
    venue.rows = [...venue.rows, { ...venue.row("ETHUSDT"), symbol: "ETHUSD", quoteAsset: "USDT" }];
    await pass(LISTED_WITHIN_MS);
    // A position in either can be read, and no order for it goes to another contract.
    expect(room.instruments?.get("BTC")).toMatchObject({ nativeSymbol: "BTCUSDT", status: "HALTED" });
    expect(room.instruments?.get("ETH")).toMatchObject({ nativeSymbol: "ETHUSDT", status: "TRADING" });
    venue.rows = venue.rows.filter(({ symbol }) => symbol !== "BTCUSDT");
    await pass(LISTED_WITHIN_MS);
    expect(room.instruments?.get("BTC")).toMatchObject({ nativeSymbol: "BTCUSDC", status: "TRADING" });
  });

  it("halts a market whose new rules cannot be read", async () => {
    await untilLive("BTC", "ETH");
    venue.filter("BTCUSDT", "PRICE_FILTER")["tickSize"] = "a bit";
    await pass(LISTED_WITHIN_MS);
    expect([marketOf("BTC").instrument.status, marketOf("BTC").book.state === BOOK_LIVE]).toEqual(["HALTED", false]);
    expect(marketOf("ETH").book.state).toBe(BOOK_LIVE);
  });

  it("keeps what it knows while the venue gives no list, or an empty one", async () => {
    await untilLive("BTC", "ETH");
    const { rows } = venue;
    venue.rows = [];
    await pass(LISTED_WITHIN_MS);
    expect(marketOf("BTC").instrument.status).toBe("TRADING");
    venue.rows = rows;
    venue.isListDown = true;
    await pass(LISTED_WITHIN_MS);
    expect([marketOf("BTC").instrument.status, marketOf("BTC").book.state]).toEqual(["TRADING", BOOK_LIVE]);
  });
});

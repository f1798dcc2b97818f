/** The market stream of venuethree: subscribing, continuity of books, refusals, connections. */
import { beforeEach, describe, expect, it } from "vitest";
import { silentLogger } from "../../../engine/domain/logger.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import type { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import {
  BOOK_INVALID,
  BOOK_LIVE,
  BOOK_SYNCING,
  INVALID_DECODE,
  INVALID_DISCONNECTED,
  INVALID_GAP,
  INVALID_REFUSED,
} from "../../../engine/market/book.js";
import { NO_MARKET_LISTENER, type Market } from "../../../engine/market/market.js";
import { keepDebugLines } from "../../shared/test/debug-lines.js";
import type { FakeConnection, FakeNetwork } from "../../shared/test/fake-connector.js";
import { REFUSED_RETRY_MS } from "../rules/limits.js";
import type { MarketStream } from "./stream.js";
import { sentTo, StreamBench } from "../test/stream-bench.js";
import type { TinyVenue } from "../test/tiny-venue.js";

let bench: StreamBench;
let clock: VirtualClock;
let network: FakeNetwork;
let venue: TinyVenue;
let stream: MarketStream;
let markets: readonly Market[];
let one: Market;
let two: Market;

function setUp(count = 2, logger = silentLogger): readonly Market[] {
  bench = new StreamBench(count, logger);
  ({ clock, network, venue, stream } = bench);
  [one, two] = [bench.markets[0] as Market, (bench.markets[1] ?? bench.markets[0]) as Market];
  return bench.markets;
}

const pass = (ms: number, each?: (elapsedMs: number) => void): Promise<void> => bench.pass(ms, each);
const goLive = (wanted: readonly Market[]): Promise<FakeConnection> => bench.goLive(wanted);

beforeEach(() => {
  markets = setUp();
});

describe("subscribing", () => {
  it("asks for the height, then for all books before anything else, one channel a message", async () => {
    const connection = await goLive(markets);
    expect(connection.url).toBe("ws://venue/stream");
    const channels = connection.sent.map((text) => (JSON.parse(text) as { channel: string }).channel);
    expect(channels.slice(0, 3)).toEqual(["height", "order_book/1", "order_book/2"]);
    expect([...channels].sort()).toEqual(
      [
        "height",
        "market_stats/all",
        ...[1, 2].flatMap((id) => [`order_book/${id}`, `ticker/${id}`, `trade/${id}`]),
      ].sort(),
    );
  });

  it("keeps within the messages a minute, over all connections, and within the subscriptions of each", async () => {
    const many = setUp(200);
    stream.add(many);
    expect(network.connections).toHaveLength(2);
    for (const connection of network.connections) connection.open();
    const counts: number[] = [];
    await pass(300_000, () => {
      for (const connection of network.connections) connection.receive(venue.height());
      counts.push(network.connections.reduce((sum, { sent }) => sum + sent.length, 0));
    });
    for (let index = 0; index + 1_200 < counts.length; index += 40) {
      expect((counts[index + 1_200] ?? 0) - (counts[index] ?? 0)).toBeLessThanOrEqual(200);
    }
    for (const connection of network.connections)
      expect(sentTo(connection, '"subscribe"').length).toBeLessThanOrEqual(500);
    expect(many.every(({ book }) => book.state === BOOK_LIVE)).toBe(true);
  });

  it("answers the venue's own ping", async () => {
    const connection = await goLive(markets);
    connection.receive('{"type":"ping"}');
    await pass(50);
    expect(sentTo(connection, "pong")).toEqual(['{"type":"pong"}']);
  });

  it("keeps the connection alive with a ping at least each two minutes", async () => {
    const connection = await goLive(markets);
    await pass(60_000, () => connection.receive(venue.height()));
    expect(connection.pingCount).toBeGreaterThanOrEqual(1);
  });
});

describe("continuity", () => {
  it("invalidates at a gap, then unsubscribes, waits for the acknowledgement, subscribes, and is LIVE with the snapshot", async () => {
    const connection = await goLive(markets);
    venue.move(1, 1_100);
    const before = connection.sent.length;
    connection.receive(venue.move(1, 1_200));
    expect([one.book.state, two.book.state]).toEqual([BOOK_SYNCING, BOOK_LIVE]);
    await clock.advanceAsync(200);
    expect(connection.sent.slice(before)).toEqual(['{"type":"unsubscribe","channel":"order_book/1"}']);
    venue.serve(connection);
    await clock.advanceAsync(50);
    expect(connection.sent.slice(before + 1)).toEqual(['{"type":"subscribe","channel":"order_book/1"}']);
    expect(one.book.state).toBe(BOOK_SYNCING);
    venue.serve(connection);
    expect([one.book.state, one.book.bidTicks(0)]).toEqual([BOOK_LIVE, 1_200]);
    expect(stream.status()).toMatchObject({ gapCount: 1, resyncCount: 1 });
  });

  it("reports the gap to readers before it repairs", async () => {
    const connection = await goLive(markets);
    const seen: (string | number)[] = [];
    one.signal.listen({
      ...NO_MARKET_LISTENER,
      bookChanged: ({ book }) => seen.push(book.invalidReason || book.state),
    });
    venue.move(1, 1_100);
    connection.receive(venue.move(1, 1_200));
    expect(seen[0]).toBe(INVALID_GAP);
  });

  it("repairs once for a burst of broken updates", async () => {
    const connection = await goLive(markets);
    venue.move(1, 1_100);
    for (let step = 0; step < 20; step++) connection.receive(venue.move(1, 1_200 + step));
    await pass(1_000);
    expect(one.book.state).toBe(BOOK_LIVE);
    expect(sentTo(connection, '"unsubscribe"')).toHaveLength(1);
    expect(stream.status().resyncCount).toBe(1);
  });

  it("goes on when the acknowledgement of the unsubscribe never comes", async () => {
    const connection = await goLive(markets);
    venue.isForgetful = true;
    venue.move(1, 1_100);
    connection.receive(venue.move(1, 1_200));
    await pass(4_000);
    expect([one.book.state, one.book.bidTicks(0)]).toEqual([BOOK_LIVE, 1_200]);
  });

  it("gives the snapshot a moment when an update comes before it, and takes it", async () => {
    stream.add(markets);
    const connection = network.last;
    connection.open();
    await clock.advanceAsync(10);
    connection.receive(venue.move(1, 1_100));
    expect(one.book.state).toBe(BOOK_SYNCING);
    await pass(1_000);
    expect([one.book.state, one.book.bidTicks(0), stream.status().resyncCount]).toEqual([BOOK_LIVE, 1_100, 0]);
  });

  it("repairs at once when updates come and the snapshot does not, once for all of them", async () => {
    stream.add(markets);
    const connection = network.last;
    venue.mute.add("order_book/1");
    connection.open();
    await pass(350, () => connection.receive(venue.move(1, 1_100)));
    venue.mute.clear();
    await pass(1_400, () => connection.receive(venue.move(1, 1_100)));
    expect(one.book.state).toBe(BOOK_LIVE);
    expect(sentTo(connection, '"unsubscribe","channel":"order_book/1"')).toHaveLength(1);
  });

  it("tries again at once when the snapshot of a repair is lost and updates come", async () => {
    const connection = await goLive(markets);
    venue.move(1, 1_100);
    connection.receive(venue.move(1, 1_200));
    await clock.advanceAsync(60);
    venue.serve(connection);
    // The venue takes the subscribe, and its snapshot is lost on the way.
    venue.losesSnapshots = true;
    await pass(200, () => connection.receive(venue.move(1, 1_300)));
    venue.losesSnapshots = false;
    await pass(1_000, () => connection.receive(venue.move(1, 1_400)));
    expect([one.book.state, one.book.bidTicks(0)]).toEqual([BOOK_LIVE, 1_400]);
    expect(sentTo(connection, '"unsubscribe","channel":"order_book/1"')).toHaveLength(2);
  });

  it("unsubscribes first when the venue says that it is subscribed already", async () => {
    stream.add(markets);
    const connection = network.last;
    venue.mute.add("order_book/1");
    connection.open();
    await pass(100);
    connection.receive('{"error":{"code":30003,"message":"Already Subscribed to : order_book:1"}}');
    venue.mute.clear();
    // The venue answers this unsubscribe with an error that names no channel: its deadline passes first.
    await pass(5_000);
    expect(one.book.state).toBe(BOOK_LIVE);
    expect(sentTo(connection, '"unsubscribe","channel":"order_book/1"')).toHaveLength(1);
  });

  it("takes a figure that the market's decimals cannot hold for drift, of this book alone", async () => {
    const connection = await goLive(markets);
    connection.receive(venue.move(1, 1_100).replace("110.0", "110.05"));
    expect([one.book.state, two.book.state]).toEqual([BOOK_SYNCING, BOOK_LIVE]);
    expect(stream.status().protocolDriftCount).toBe(1);
    await pass(1_000);
    expect(one.book.state).toBe(BOOK_LIVE);
  });

  it("is no longer LIVE, with the reason of what broke", async () => {
    const connection = await goLive(markets);
    const reasons: string[] = [];
    one.signal.listen({
      ...NO_MARKET_LISTENER,
      bookChanged: ({ book }) => {
        if (book.state === BOOK_INVALID) reasons.push(book.invalidReason);
      },
    });
    connection.receive(venue.move(1, 1_100).replace("110.0", "110.05"));
    await pass(1_000);
    connection.end(1006);
    expect(reasons).toEqual([INVALID_DECODE, INVALID_DISCONNECTED]);
  });
});

describe("refusals", () => {
  it("marks a market down that the venue does not serve, keeps the others, and tries again much later", async () => {
    venue.mute.add("order_book/1");
    stream.add(markets);
    const connection = network.last;
    connection.open();
    await pass(120_000, () => connection.receive(venue.height()));
    expect([one.book.state, one.book.invalidReason, two.book.state]).toEqual([
      BOOK_INVALID,
      INVALID_REFUSED,
      BOOK_LIVE,
    ]);
    const tries = sentTo(connection, '"subscribe","channel":"order_book/1"').length;
    expect(tries).toBeGreaterThan(2);
    expect(tries).toBeLessThan(8);
    await pass(60_000, () => connection.receive(venue.height()));
    expect(sentTo(connection, '"subscribe","channel":"order_book/1"')).toHaveLength(tries);
    expect(network.connections).toHaveLength(1);
    venue.mute.clear();
    await pass(REFUSED_RETRY_MS, () => connection.receive(venue.height()));
    expect(one.book.state).toBe(BOOK_LIVE);
  });

  it("replaces the connection when it serves no book at all", async () => {
    const three = setUp(3);
    venue.isMute = true;
    stream.add(three);
    network.last.open();
    await pass(90_000, () => network.last.receive(venue.height()));
    expect(network.connections.length).toBeGreaterThan(1);
    venue.isMute = false;
    if (!network.last.isEnded) network.last.open();
    await pass(10_000, () => network.last.receive(venue.height()));
    expect(three.every(({ book }) => book.state === BOOK_LIVE)).toBe(true);
  });

  it("sends nothing for a minute when the venue finds the messages too many", async () => {
    const connection = await goLive(markets);
    connection.receive('{"error":{"code":30009,"message":"Too Many Websocket Messages!"}}');
    const before = connection.sent.length;
    venue.move(1, 1_100);
    connection.receive(venue.move(1, 1_200));
    await pass(50_000, () => connection.receive(venue.height()));
    expect(connection.sent).toHaveLength(before);
    await pass(20_000, () => connection.receive(venue.height()));
    expect(one.book.state).toBe(BOOK_LIVE);
  });
});

describe("connections", () => {
  it("takes all books out of LIVE when one is lost, and brings them back over the next", async () => {
    const connection = await goLive(markets);
    connection.receive(venue.ticker(1));
    connection.end(1006);
    expect([one.book.state, one.book.invalidReason, one.touch.present]).toEqual([
      BOOK_INVALID,
      INVALID_DISCONNECTED,
      false,
    ]);
    await pass(5_000);
    network.last.open();
    await pass(1_000);
    expect([one.book.state, two.book.state]).toEqual([BOOK_LIVE, BOOK_LIVE]);
    expect(stream.status().reconnectCount).toBe(1);
  });

  it("comes back from a loss in the middle of a repair", async () => {
    const connection = await goLive(markets);
    venue.move(1, 1_100);
    connection.receive(venue.move(1, 1_200));
    await clock.advanceAsync(60);
    expect(sentTo(connection, '"unsubscribe"')).toHaveLength(1);
    connection.end(1006);
    await pass(5_000);
    network.last.open();
    await pass(1_000);
    expect([one.book.state, one.book.bidTicks(0)]).toEqual([BOOK_LIVE, 1_200]);
    expect(sentTo(network.last, '"subscribe","channel":"order_book/1"')).toHaveLength(1);
  });

  it("survives a storm of losses within the connects a minute, and ends LIVE with the venue's book", async () => {
    await goLive(markets);
    const random = createSeededRandom(9);
    const startedMs = clock.wallMs();
    let isStorm = true;
    await pass(210_000, (elapsedMs) => {
      isStorm = elapsedMs < 150_000;
      const connection = network.last;
      if (!connection.isEnded && connection.sent.length === 0) connection.open();
      if (connection.isEnded) return;
      connection.receive(random.next() < 0.3 ? venue.height() : venue.move(1, 900 + Math.floor(random.next() * 200)));
      if (isStorm && random.next() < 0.05) connection.end(random.next() < 0.5 ? 1006 : 1001);
    });
    const minutes = (clock.wallMs() - startedMs) / 60_000;
    expect(network.connections.length).toBeGreaterThan(20);
    expect(network.connections.length).toBeLessThanOrEqual(60 * minutes + 60);
    expect([one.book.state, two.book.state]).toEqual([BOOK_LIVE, BOOK_LIVE]);
    expect(one.book.bidTicks(0)).toBe(venue.market(1).bidTicks);
  });

  it("stops: no book LIVE, nothing more sent", async () => {
    const connection = await goLive(markets);
    stream.stop();
    expect([connection.isEnded, one.book.state]).toEqual([true, BOOK_INVALID]);
    const before = connection.sent.length;
    await pass(10_000);
    expect([connection.sent.length, network.connections.length]).toEqual([before, 1]);
  });
});

describe("debug lines", () => {
  it("say of each dropped frame, each lost book and each reconnect whose it is and why", async () => {
    const { logger, lines } = keepDebugLines();
    const connection = await goLive(setUp(2, logger));
    venue.move(1, 1_010);
    connection.receive(venue.move(1, 1_020));
    connection.receive(venue.ticker(2).replace('"price":"', '"price":"1.23456'));
    connection.receive(venue.trades(2, [{ trade_id: 1, price: "0.00001" }]));
    connection.receive(venue.ticker(9));
    connection.receive("rubbish");
    connection.end(1006);
    expect(lines).toEqual([
      "book.resync venue=venuethree symbol=COIN1 tier=book reason=SEQUENCE_GAP",
      "frame.dropped venue=venuethree channel=ticker symbol=COIN2 reason=MALFORMED",
      "frame.dropped venue=venuethree channel=trade symbol=COIN2 reason=DRIFT",
      "frame.dropped venue=venuethree channel= symbol= reason=UNKNOWN_SYMBOL",
      "frame.dropped venue=venuethree channel= symbol= reason=MALFORMED",
      "book.resync venue=venuethree symbol=COIN2 tier=book reason=DISCONNECTED",
      expect.stringMatching(/^socket\.reconnect socket=venuethree\.market\.0 code=1006 reason= attempt=1 delayMs=\d+$/),
    ]);
  });
});

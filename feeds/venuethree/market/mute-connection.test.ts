/** A connection of venuethree that answers pings and says nothing else: its books are not current. */
import { beforeEach, describe, expect, it } from "vitest";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import { sentTo, StreamBench } from "../test/stream-bench.js";

let bench: StreamBench;

beforeEach(() => {
  bench = new StreamBench(12);
});

/** Time passes, and the venue's height comes over every connection that asked for it. */
function passWithHeight(ms: number): Promise<void> {
  return bench.pass(ms, () => {
    for (const connection of bench.network.connections) {
      const asked = sentTo(connection, '"height"').length > 0;
      if (asked && !connection.isEnded) connection.receive(bench.venue.height());
    }
  });
}

const agesOver = (ms: number): number => bench.markets.filter((market) => bench.ageOf(market) > ms).length;

describe("a connection that is mute but for pongs", () => {
  it("proves no book two seconds after its last height", async () => {
    await bench.goLive(bench.markets);
    await passWithHeight(3_000);
    expect(agesOver(1_000)).toBe(0);
    bench.venue.move(1, 1_100);
    // The last proof came up to two seconds after the last height, and is too old to route by two later.
    await bench.pass(4_800);
    expect(agesOver(2_000)).toBe(12);
    expect(bench.network.connections).toHaveLength(1);
  });

  it("is replaced after five, and its books are loaded again", async () => {
    await bench.goLive(bench.markets);
    await passWithHeight(3_000);
    bench.venue.move(1, 1_100);
    await bench.pass(5_500);
    for (let waitedMs = 0; bench.network.connections.length < 2 && waitedMs < 4_000; waitedMs += 50)
      await bench.pass(50);
    expect(bench.network.connections.length).toBe(2);
    bench.network.last.open();
    await passWithHeight(3_000);
    expect(bench.markets.filter(({ book }) => book.state === BOOK_LIVE)).toHaveLength(12);
    expect(bench.markets[0]?.book.bidTicks(0)).toBe(1_100);
    // Nothing was asked over REST: the connection itself was the evidence.
    expect(bench.venue.count("orderBookOrders")).toBe(0);
  });

  it("is not replaced while its height comes, however quiet its markets are", async () => {
    const connection = await bench.goLive(bench.markets);
    await passWithHeight(60_000);
    expect([bench.network.connections.length, connection.isEnded, agesOver(1_000)]).toEqual([1, false, 0]);
  });

  it("asks for the height before anything else, so that a spent message budget cannot hold it back alone", async () => {
    const connection = await bench.goLive(bench.markets);
    expect(connection.sent[0]).toBe('{"type":"subscribe","channel":"height"}');
  });

  it("proves no book while its height is not followed, since nothing distinguishes it from a mute one", async () => {
    bench = new StreamBench(2);
    bench.stream.add(bench.markets);
    // The venue ends every connection that asks for the height.
    for (let kills = 0, quietMs = 0; quietMs < 20_000; quietMs += 50) {
      const connection = bench.network.last;
      if (connection.sent.length === 0) connection.open();
      await bench.pass(50);
      if (connection.isEnded || sentTo(connection, '"height"').length === 0) continue;
      connection.end(1006);
      quietMs = 0;
      kills++;
      expect(kills).toBeLessThan(20);
    }
    // It goes on without: books live by their own frames, and a quiet one by audits.
    expect(bench.markets.map(({ book }) => book.state)).toEqual([BOOK_LIVE, BOOK_LIVE]);
    expect(agesOver(2_000)).toBe(2);
  });

  it("is not judged before the height was asked for", async () => {
    // The messages of a minute are spent: nothing can be written to the connection.
    while (bench.messages.waitMs() === 0) bench.messages.take();
    bench.stream.add(bench.markets);
    bench.network.last.open();
    await bench.pass(20_000);
    expect(bench.network.connections).toHaveLength(1);
  });
});

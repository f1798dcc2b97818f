/** A book frame that nobody can read: what it would have changed is unknown, and the connection's proof would cover it up. */
import { expect, it } from "vitest";
import { BOOK_LIVE } from "../../../engine/market/book.js";
import { sentTo, StreamBench } from "../test/stream-bench.js";

it.each([
  ["its end cut off", (text: string) => text.slice(0, -20)],
  ["a figure that is no JSON", (text: string) => text.replace('"nonce":', '"nonce":?')],
  ["rubbish behind its channel", (text: string) => text.replace(/("order_book:1",).*/, "$1\u0000")],
])("a market of venuethree takes its book down at once with %s, and that book alone", async (_name, garble) => {
  const bench = new StreamBench(2);
  const [book, other] = bench.markets.map((market) => market.book);
  const connection = await bench.goLive(bench.markets);
  connection.receive(garble(bench.venue.move(1, 1_100)));
  expect([book?.state === BOOK_LIVE, other?.state]).toEqual([false, BOOK_LIVE]);
  // The market is quiet after it: nothing else would show it.
  await bench.pass(3_000, () => {
    if (sentTo(connection, '"height"').length > 0) connection.receive(bench.venue.height());
    for (const market of bench.markets) {
      const isFresh = market.book.state === BOOK_LIVE && bench.ageOf(market) <= market.maxBookAgeMs;
      if (isFresh) expect(market.book.bidTicks(0)).toBe(bench.venue.market(market.instrument.nativeId).bidTicks);
    }
  });
  expect([book?.state, book?.bidTicks(0)]).toEqual([BOOK_LIVE, 1_100]);
  expect(bench.network.connections).toHaveLength(1);
});

it("a market of venuethree changes no book by frames that are of none", async () => {
  const bench = new StreamBench(2);
  const connection = await bench.goLive(bench.markets);
  for (const text of ["", "{", "hello", '{"channel":"order_book:77","order', '{"channel":"ticker:1","tick'])
    connection.receive(text);
  expect(bench.markets.map(({ book }) => book.state)).toEqual([BOOK_LIVE, BOOK_LIVE]);
});

/** Best bid and offer that come faster than their book, in the `book` topic, on virtual time. */
import { expect, it } from "vitest";
import { venueBook } from "../../api/book-reply.js";
import { VirtualStream } from "./virtual-stream.js";

it("a touch that its book has not overtaken in time no longer overrides a book that is merely proven", () => {
  const stream = new VirtualStream();
  const { btcOne } = stream.markets;
  const client = stream.connect();
  client.op({ op: "subscribe", topic: "book", symbols: ["BTC"], depth: 5, exchanges: ["venueone"] });
  const bids = () => client.folds.get("book:BTC:venueone:5:100")?.levels("venueone", "bids");
  // A time in the future.
  btcOne.touch.set(9_990, 1, 10_011, 1, 0, stream.clock.wallMs() + 500, stream.clock.monoNs());
  const provenFor = (ms: number) => {
    for (let left = ms; left > 0; left -= 250) {
      stream.prove();
      stream.advance(250);
    }
  };
  provenFor(1_000);
  expect(bids()?.[0]).toEqual(["999", "0.001"]);
  provenFor(2_000);
  const shown = venueBook(btcOne, "venueone", 5, stream.clock.monoNs()).bids;
  expect(shown[0]).toEqual(["1000", "0.005"]);
  expect(bids()).toEqual(shown);
});

/** A bug in one topic: the frames of the others go on, at every look at the connection that holds it. */
import { expect, it, vi } from "vitest";
import { VirtualStream } from "./virtual-stream.js";

it("a topic that fails for a slow reader leaves the topics of other readers running", () => {
  const stream = new VirtualStream();
  const slow = stream.connect();
  slow.answersPings = false;
  slow.op({ op: "subscribe", topic: "ticker", symbols: ["BTC"], exchanges: ["venueone"], intervalMs: 50 });
  const other = stream.connect();
  other.op({ op: "subscribe", topic: "ticker", symbols: ["ETH"], exchanges: ["venueone"], intervalMs: 100 });
  for (let step = 0; step < 300 && !slow.connection.isLagging; step++) stream.advance(100);
  expect(slow.connection.isLagging).toBe(true);
  const key = stream.hub.keys.get("ticker:BTC:venueone:50");
  if (key === undefined) throw new Error("no such key");
  vi.spyOn(key, "updateFrame").mockImplementation(() => {
    throw new TypeError("a bug of this topic");
  });
  stream.tick(stream.markets.btcOne, "101.5");
  stream.advance(100);
  // The endpoint logs what a handler throws.
  expect(() => slow.connection.pong(String(slow.pingCount))).toThrow(TypeError);

  const shown = (price: string) => JSON.stringify(other.frames).includes(price);
  for (const price of ["201.5", "202.5", "203.5"]) {
    stream.tick(stream.markets.ethOne, price);
    stream.advance(1_000);
    expect([price, shown(price)]).toEqual([price, true]);
  }
});

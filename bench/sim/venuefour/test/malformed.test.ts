/** Whatever a client sends, the venue answers in its own words or not at all, and goes on serving. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { VenuefourSim } from "../sim.js";
import { connect, get, startTestVenue } from "./support.js";

const LITERALS = fc.constantFrom<unknown>(null, true, 0, -1, 1e21, "", "all", [], {}, ["x"], { a: 1 });
const MESSAGE = fc.record(
  {
    method: fc.oneof(LITERALS, fc.constantFrom("subscribe", "unsubscribe", "ping")),
    params: fc.oneof(
      LITERALS,
      fc.record({
        source: fc.oneof(LITERALS, fc.constantFrom("book", "bbo", "trades", "prices", "candle")),
        symbol: fc.oneof(LITERALS, fc.constantFrom("BTC", "kPEPE", "constructor")),
        agg_level: fc.oneof(LITERALS, fc.constantFrom(1, 10)),
        interval: fc.oneof(LITERALS, fc.constantFrom("1m")),
      }),
    ),
    id: LITERALS,
  },
  { requiredKeys: [] },
);

describe("malformed input", () => {
  let venue: VenuefourSim;
  beforeAll(async () => {
    venue = (await startTestVenue()).venue;
  });
  afterAll(async () => {
    await venue.stop();
  });

  it("over the socket leaves the connection and the venue alive", async () => {
    const listener = await connect(venue);
    const message = fc.oneof(
      fc.string(),
      fc.json(),
      MESSAGE.map((value) => JSON.stringify(value)),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 20 }), async (messages) => {
        for (const text of messages) listener.socket.send(text);
        await listener.drained();
        expect(listener.socket.readyState).toBe(listener.socket.OPEN);
        for (const frame of listener.frames) expect(frame.unparsable).toBeUndefined();
      }),
      { numRuns: 60 },
    );
    listener.socket.terminate();
  });

  it("over REST is refused as the client's mistake, never as a failure of the venue", async () => {
    const path = fc.constantFrom(
      "info",
      "info/prices",
      "book",
      "trades",
      "kline",
      "kline/mark",
      "funding_rate/history",
    );
    const query = fc.dictionary(
      fc.constantFrom("symbol", "agg_level", "interval", "start_time", "end_time", "limit", "cursor"),
      fc.oneof(fc.string(), fc.constantFrom("BTC", "WIF/USDC", "10", "1m", "1790000000000", "11114Lz77", "-1")),
    );
    await fc.assert(
      fc.asyncProperty(path, query, async (name, params) => {
        const answer = await get(venue, `${name}?${new URLSearchParams(params)}`);
        expect(answer.status).toBeLessThan(500);
      }),
      { numRuns: 150 },
    );
  });
});

/** Malformed input: the venue answers in its own words or not at all, and goes on serving. */
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { VenuethreeSim } from "../sim.js";
import { connect, get, startTestVenue } from "./support.js";

const LITERALS = fc.constantFrom<unknown>(null, true, 0, -1, 1e21, "", "all", [], {}, ["x"], { a: 1 });
const MESSAGE = fc.record(
  {
    type: fc.oneof(LITERALS, fc.constantFrom("subscribe", "unsubscribe", "ping", "jsonapi/sendtx")),
    channel: fc.oneof(
      LITERALS,
      fc.constantFrom("order_book/1", "ticker/141", "market_stats/all", "trade/83", "height"),
    ),
    auth: LITERALS,
  },
  { requiredKeys: [] },
);

describe("malformed input", () => {
  let venue: VenuethreeSim;
  beforeAll(async () => {
    venue = (await startTestVenue()).venue;
  });
  afterAll(async () => {
    await venue.stop();
  });

  it("over the socket ends neither the connection nor the venue", async () => {
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
      "orderBooks",
      "orderBookDetails",
      "orderBookOrders",
      "recentTrades",
      "trades",
      "candles",
      "fundings",
    );
    const query = fc.dictionary(
      fc.constantFrom(
        "market_id",
        "limit",
        "filter",
        "sort_by",
        "resolution",
        "start_timestamp",
        "end_timestamp",
        "count_back",
        "account_index",
      ),
      fc.oneof(fc.string(), fc.constantFrom("1", "0", "83", "255", "1m", "1h", "timestamp", "1790000000000", "-1")),
    );
    await fc.assert(
      fc.asyncProperty(path, query, async (name, params) => {
        const answer = await get(venue, `/api/v1/${name}?${new URLSearchParams(params)}`);
        expect(answer.status).toBeLessThan(500);
      }),
      { numRuns: 150 },
    );
  });
});

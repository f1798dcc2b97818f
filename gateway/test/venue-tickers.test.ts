/** The tickers of the venues whose payload is their own: what of a market each shows, and under which name. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSystemClock } from "../../engine/domain/clock.js";
import { anInstrument } from "../../engine/domain/test/instruments.js";
import { createFakeRoom, fakeMarket, loadBook } from "./fake-room.js";
import { type Harness, startHarness } from "./harness.js";

const clock = createSystemClock();
const rooms = (["venuethree", "venuefour"] as const).map((venue) => {
  const market = fakeMarket(anInstrument({ venue, nativeId: 7 }));
  loadBook(market.book, [[974_170, 5_000]], [[974_180, 4_000]], clock.monoNs() + 600e9);
  Object.assign(market.ticker, {
    markPrice: "97421.5",
    indexPrice: "97425.30",
    lastPrice: "97420",
    prevDayPrice: "96000",
    fundingRate: "0.0000125",
    openInterest: "24310.5",
    fundingIntervalHours: 1,
  });
  market.ticker.stamp(1_790_000_000_391, clock.monoNs());
  return createFakeRoom(venue, [market], () => clock.wallMs());
});
let harness: Harness;
beforeAll(async () => {
  harness = await startHarness({ rooms });
});
afterAll(async () => {
  await harness.stop();
});

describe("the ticker", () => {
  it("of venuethree has the last trade as its mark, and the venue's own mark beside it", async () => {
    const reply = await harness.client.get("/api/trading/venuethree/ticker/BTC");
    expect([reply.status, reply.body]).toMatchObject([
      200,
      { data: { symbol: "BTC", marketId: 7, markPrice: "97420", venueMarkPrice: "97421.5", indexPrice: "97425.3" } },
    ]);
  });

  it("of venuefour has the venue's mark, and its change against the index", async () => {
    const reply = await harness.client.get("/api/trading/venuefour/ticker/BTC");
    expect([reply.status, reply.body]).toMatchObject([
      200,
      { data: { symbol: "BTC", markPrice: "97421.5", indexPrice: "97425.3", change24hAbs: "1425.3", state: "LIVE" } },
    ]);
  });
});

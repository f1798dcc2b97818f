/**
 * venuetwo's band against its local venue, whose mark moves: bounds of ours are never refused for it, its very edge is,
 * and so is everything that we refuse ourselves.
 */
import { afterEach, expect, it } from "vitest";
import { ceilPrice, floorPrice, protectPrice } from "../../../engine/domain/price-grid.js";
import type { Side } from "../../../engine/domain/order.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { VirtualClock } from "../../../engine/domain/virtual-clock.js";
import { createMarket } from "../../../engine/market/market.js";
import { bandEdgeTicks, bandTicks, outerBandTicks } from "../../../engine/routing/price-band.js";
import { MarketRest } from "../../../feeds/venuetwo/market/rest.js";
import { createVenuetwoTrading } from "../../../feeds/venuetwo/trading.js";
import type { VenuetwoSim } from "../../sim/venuetwo/sim.js";
import { API_KEY, API_SECRET, mainWallet, startTestVenue } from "../../sim/venuetwo/test/support.js";
import { commandOf, halfDeps, open, OPTIONS } from "../support/trading-half.js";

const ROUNDS = 40;
let sim: VenuetwoSim | null = null;

afterEach(async () => {
  await sim?.stop();
  sim = null;
});

it("holds a bound with its margin, refuses many at the edge and all beyond ours, however the mark moves on the way", async () => {
  const clock = new VirtualClock();
  const venue = await startTestVenue({
    clock,
    limits: { weightPerMinute: 10_000_000, ordersPerMinute: 100_000, ordersPer10s: 100_000 },
  });
  sim = venue;
  const deps = halfDeps(venue.restUrl, clock, () => new Map());
  const load = await new MarketRest(deps.http).loadInstruments({}, "read");
  if (load === null || load === "same") throw new Error("no list");
  const btc = load.instruments.get("BTC");
  if (btc === undefined) throw new Error("BTC is not listed");
  const half = createVenuetwoTrading(deps);
  const session = open(half, { apiKey: API_KEY, apiSecret: API_SECRET, walletAddress: mainWallet.address });
  const market = createMarket(btc, { deepTier: false, maxBookAgeMs: 2_000, maxDeepAgeMs: 0 });
  const random = createSeededRandom(9);
  const refused = { edge: 0, bound: 0, beyond: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    // What the stream said, and up to three seconds until the order is there.
    market.ticker.markPrice = (venue.exchange.mark("BTCUSDT").markE8 / 1e8).toFixed(8);
    market.ticker.stamp(clock.wallMs(), clock.monoNs());
    const side: Side = round % 2 === 0 ? "BUY" : "SELL";
    const ask = { side, nowNs: clock.monoNs() };
    const outer = outerBandTicks(ask, market);
    const prices = {
      edge: protectPrice(btc, side, bandEdgeTicks(ask, market)),
      bound: protectPrice(btc, side, bandTicks(ask, market)),
      // The first price that a caller is refused here.
      beyond: side === "BUY" ? ceilPrice(btc, outer + 1) : floorPrice(btc, outer - 1),
    };
    clock.advance(Math.floor(random.next() * 3_000));
    for (const kind of ["edge", "bound", "beyond"] as const) {
      const priceTicks = prices[kind];
      const outcome = await half.orders.place(session, commandOf(btc, { side, qtyLots: 10, priceTicks }), OPTIONS);
      if (outcome.outcome === "rejected") expect(outcome.reason).toBe("PRICE_BAND");
      if (outcome.outcome !== "accepted") refused[kind]++;
    }
  }
  expect(refused.bound).toBe(0);
  expect(refused.beyond).toBe(ROUNDS);
  expect(refused.edge).toBeGreaterThan(ROUNDS / 5);
  await deps.http.close(0);
});

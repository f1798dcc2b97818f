/**
 * venuetwo's band against its local venue, whose mark moves: the venue never refuses bounds of ours for it, and refuses
 * its very edge and everything that we refuse ourselves.
 */
import { expect, it } from "vitest";
import { ceilPrice, floorPrice, protectPrice } from "../../../engine/domain/price-grid.js";
import type { Side } from "../../../engine/domain/order.js";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { createMarket } from "../../../engine/market/market.js";
import { start } from "../support/trading/bench.js";
import { VENUETWO } from "../support/trading/venuetwo.js";
import { bandEdgeTicks, bandTicks, outerBandTicks } from "../../../engine/routing/price-band.js";

const ROUNDS = 40;

it("the band of venuetwo holds a bound with its margin, and refuses many prices at its edge and all beyond it, however the mark moves", async () => {
  const on = await start(VENUETWO);
  const { btc, clock } = on;
  const market = createMarket(btc, { deepTier: false, maxBookAgeMs: 2_000, maxDeepAgeMs: 0 });
  const random = createSeededRandom(9);
  const refused = { edge: 0, bound: 0, beyond: 0 };
  for (let round = 0; round < ROUNDS; round++) {
    // The stream's mark, and up to three seconds until the order arrives.
    market.ticker.markPrice = on.mark().toFixed(8);
    market.ticker.stamp(clock.wallMs(), clock.monoNs());
    const side: Side = round % 2 === 0 ? "BUY" : "SELL";
    const ask = { side, nowNs: clock.monoNs() };
    const outer = outerBandTicks(ask, market);
    const prices = {
      edge: protectPrice(btc, side, bandEdgeTicks(ask, market)),
      bound: protectPrice(btc, side, bandTicks(ask, market)),
      // The first price that this service refuses.
      beyond: side === "BUY" ? ceilPrice(btc, outer + 1) : floorPrice(btc, outer - 1),
    };
    clock.advance(Math.floor(random.next() * 3_000));
    for (const kind of ["edge", "bound", "beyond"] as const) {
      const priceTicks = prices[kind];
      const outcome = await on.send(on.buy({ side, priceTicks }));
      if (outcome.outcome === "rejected") expect(outcome.reason).toBe("PRICE_BAND");
      if (outcome.outcome !== "accepted") refused[kind]++;
    }
  }
  expect(refused.bound).toBe(0);
  expect(refused.beyond).toBe(ROUNDS);
  expect(refused.edge).toBeGreaterThan(ROUNDS / 5);
});

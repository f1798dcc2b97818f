/** The local venues as they are started together. */
import { describe, expect, it } from "vitest";
import { DEMO_SYMBOLS, startLocalVenues } from "./venues.js";

const BASIS_BPS_MAX = 20;

describe("local venues", () => {
  it("run four markets on one price model, each with a small basis of its own", async () => {
    const venues = await startLocalVenues({ seed: 3, flow: { levelCount: 20 }, unlimited: true });
    try {
      const { venueone, venuetwo, venuethree, venuefour } = venues;
      const sims = [venueone, venuetwo, venuethree, venuefour];
      expect(new Set(sims.map((sim) => sim.port)).size).toBe(4);
      for (const symbol of DEMO_SYMBOLS) {
        const mids = sims.map(({ exchange }) => {
          const native = exchange.venue === "venuetwo" ? `${symbol}USDT` : symbol;
          const scale = 10 ** (exchange.instruments.get(native)?.priceDecimals ?? 0);
          const [bid, ask] = [exchange.bestBid(native), exchange.bestAsk(native)];
          return ((bid?.priceTicks ?? 0) + (ask?.priceTicks ?? 0)) / 2 / scale;
        });
        const [lowest, highest] = [Math.min(...mids), Math.max(...mids)];
        expect(((highest - lowest) / lowest) * 10_000).toBeLessThan(BASIS_BPS_MAX);
        expect(highest).toBeGreaterThan(lowest);
      }
      for (const sim of [venuethree, venuefour]) {
        const path = sim === venuethree ? "/api/v1/orderBooks" : "/api/v1/info";
        expect((await fetch(`${sim.restUrl}${path}`)).status).toBe(200);
        const state = (await (await fetch(`${sim.restUrl}/_sim/state`)).json()) as { venue: string };
        expect(state.venue).toBe(sim.exchange.venue);
      }
    } finally {
      await venues.stop();
    }
  });
});

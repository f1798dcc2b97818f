/**
 * The demo trader of the local venuefour. `apiSecret` is the key of the agent `apiKey`, made for this file; it has no
 * use elsewhere.
 */
import { type DemoOptions, NO_LIMIT } from "../core/local-venue.js";

const trader = {
  apiKey: "972U2DRmXdfZe4HBdpCh8cHyLshWpr84XsA2EDr3TDQB",
  apiSecret: "4SH7zY4jFKRET312ANfuCsK4dncrssadJLG4Q6fk2C1Be6RMr5CxKjPjyNzJy161qDWgrMP4BbAy8q6Hiso76wMy",
  walletAddress: "8kaA2Vqvcokq33kQMHcDB6vs3kQFpRyrd1qBUub1Kxwm",
};

export const venuefour = {
  trader,
  credentials: trader,
  symbolOf: (coin: string) => coin,
  orderRoute: "POST /api/v1/orders",
  async start({ coins, btcSize, unlimited, seed, clock, priceSource, port, flow }: DemoOptions) {
    // Loaded only where the venue is started.
    const { startVenuefourSim } = await import("./sim.js");
    return startVenuefourSim({
      seed,
      clock,
      priceSource,
      symbols: [...coins],
      port,
      flow,
      accounts: [
        {
          walletAddress: trader.walletAddress,
          agents: [trader.apiKey],
          deposit: "100000000",
          positions: [
            { symbol: "BTC", qty: btcSize },
            { symbol: "ETH", qty: "-20" },
          ],
        },
      ],
      ...(unlimited
        ? { limits: { creditsPerMinute: NO_LIMIT, keyCreditsPerMinute: NO_LIMIT, connections: NO_LIMIT } }
        : {}),
    });
  },
};

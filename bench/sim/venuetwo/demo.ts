/** The demo trader of the local venuetwo. */
import { DEMO_ADDRESS, type DemoOptions, NO_LIMIT } from "../core/local-venue.js";

const trader = {
  accountId: "demo",
  apiKey: "dem0000000000000000000000000000000000000000000000000000000000key",
  apiSecret: "dem0000000000000000000000000000000000000000000000000000000secret",
  walletAddress: DEMO_ADDRESS,
};
const symbolOf = (coin: string) => `${coin}USDT`;

export const venuetwo = {
  trader,
  credentials: { apiKey: trader.apiKey, apiSecret: trader.apiSecret, walletAddress: trader.walletAddress },
  symbolOf,
  orderRoute: "POST /fapi/v1/order",
  async start({ coins, btcSize, unlimited, seed, clock, priceSource, port, flow, listsOthers, chains }: DemoOptions) {
    // Loaded only where the venue is started.
    const { startVenuetwoSim } = await import("./sim.js");
    return startVenuetwoSim({
      seed,
      clock,
      priceSource,
      symbols: coins.map(symbolOf),
      listsOthers,
      port,
      flow,
      accounts: [
        {
          accountId: trader.accountId,
          apiKey: trader.apiKey,
          apiSecret: trader.apiSecret,
          wallet: trader.walletAddress,
          deposit: "100000000",
          positions: [
            { symbol: "BTCUSDT", qty: btcSize },
            { symbol: "ETHUSDT", qty: "-20" },
          ],
        },
      ],
      ...(chains === undefined ? {} : { chains }),
      ...(unlimited
        ? { limits: { weightPerMinute: NO_LIMIT, ordersPerMinute: NO_LIMIT, ordersPer10s: NO_LIMIT } }
        : {}),
    });
  },
};

/** The demo trader of the local venuethree. The key was made for this file and has no use elsewhere. */
import { DEMO_ADDRESS, type DemoOptions, NO_LIMIT } from "../core/local-venue.js";

const trader = {
  apiKeyPrivateKey: "de300000000000000000000000000000000000000000000000000000000000000000000000000003",
  accountIndex: 501,
  apiKeyIndex: 5,
  publicKey: "175dbd0c45bd82ad25c55f1ac7f15ae56dc46f74fd55f5cfc24a651e5db6d09a6e9867f9fabe9b5a",
  l1Address: DEMO_ADDRESS,
};
const UNLIMITED = {
  readsPerMinute: NO_LIMIT,
  weightPerMinute: NO_LIMIT,
  connections: NO_LIMIT,
  newConnectionsPerMinute: NO_LIMIT,
  messagesPerMinute: NO_LIMIT,
  transactionsPerMinute: NO_LIMIT,
  otherTransactionsPerMinute: NO_LIMIT,
};

export const venuethree = {
  trader,
  credentials: {
    apiKeyPrivateKey: trader.apiKeyPrivateKey,
    accountIndex: trader.accountIndex,
    apiKeyIndex: trader.apiKeyIndex,
  },
  symbolOf: (coin: string) => coin,
  orderRoute: "POST /api/v1/sendTx",
  async start({ coins, btcSize, unlimited, seed, clock, priceSource, port, flow, listsOthers }: DemoOptions) {
    // Loaded only where the venue is started.
    const { startVenuethreeSim } = await import("./sim.js");
    return startVenuethreeSim({
      seed,
      clock,
      priceSource,
      symbols: [...coins],
      listsOthers,
      port,
      flow,
      accounts: [
        {
          accountIndex: trader.accountIndex,
          l1Address: trader.l1Address,
          deposit: "100000000",
          apiKeys: [{ apiKeyIndex: trader.apiKeyIndex, publicKey: trader.publicKey }],
          positions: [
            { symbol: "BTC", size: btcSize },
            { symbol: "ETH", size: "-20" },
          ],
        },
      ],
      ...(unlimited ? { limits: UNLIMITED } : {}),
    });
  },
};

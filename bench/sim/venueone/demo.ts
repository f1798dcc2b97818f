/** The demo trader of the local venueone. Its keys are published ones of EVM test chains. */
import { DEMO_ADDRESS, type DemoOptions, NO_LIMIT } from "../core/local-venue.js";

const trader = {
  address: DEMO_ADDRESS,
  agentPrivateKey: "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
  agentAddress: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
};

export const venueone = {
  trader,
  credentials: { privateKey: trader.agentPrivateKey },
  symbolOf: (coin: string) => coin,
  orderRoute: "POST /exchange",
  async start({ coins, btcSize, unlimited, seed, clock, priceSource, port, flow, chains }: DemoOptions) {
    // Loaded only where the venue is started.
    const { startVenueoneSim } = await import("./sim.js");
    return startVenueoneSim({
      seed,
      clock,
      priceSource,
      symbols: [...coins],
      port,
      flow,
      accounts: [
        {
          address: trader.address,
          deposit: "100000000",
          volume: "50000000",
          agents: [{ address: trader.agentAddress, name: "demo" }],
          positions: [
            { coin: "BTC", size: btcSize, entryPx: "91000" },
            { coin: "ETH", size: "-20", entryPx: "3200" },
          ],
        },
      ],
      ...(chains === undefined ? {} : { chains }),
      ...(unlimited ? { limits: { ipWeightPerMinute: NO_LIMIT, addressRequests: NO_LIMIT } } : {}),
    });
  },
};

/**
 * The accounts that the demo, the benchmarks and the whole-path tests trade with. The keys open nothing but local
 * venues: they are the published development keys of EVM test chains.
 */

/** One trader with a position on both venues. */
export interface DemoTrader {
  readonly venueone: { readonly address: string; readonly agentPrivateKey: string; readonly agentAddress: string };
  readonly venuetwo: {
    readonly accountId: string;
    readonly apiKey: string;
    readonly apiSecret: string;
    readonly walletAddress: string;
  };
}

export const DEMO_TRADER: DemoTrader = {
  venueone: {
    address: "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
    agentPrivateKey: "0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d",
    agentAddress: "0x70997970c51812dc3a010c7d01b50e0d17dc79c8",
  },
  venuetwo: {
    accountId: "demo",
    apiKey: "dem0000000000000000000000000000000000000000000000000000000000key",
    apiSecret: "dem0000000000000000000000000000000000000000000000000000000secret",
    walletAddress: "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
  },
};

/** The `credentials` object of a close request (interface spec 2.3). */
export function credentialsOf(trader: DemoTrader): Record<string, Record<string, string>> {
  const { apiKey, apiSecret, walletAddress } = trader.venuetwo;
  return { venueone: { privateKey: trader.venueone.agentPrivateKey }, venuetwo: { apiKey, apiSecret, walletAddress } };
}

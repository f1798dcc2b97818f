/**
 * The accounts that the demo, the benchmarks and the whole-path tests trade with. The keys open nothing but local
 * venues: they are the published development keys of EVM test chains.
 */
import { randomUUID } from "node:crypto";

/** One trader with a position on each venue. */
export interface DemoTrader {
  readonly venueone: { readonly address: string; readonly agentPrivateKey: string; readonly agentAddress: string };
  readonly venuetwo: {
    readonly accountId: string;
    readonly apiKey: string;
    readonly apiSecret: string;
    readonly walletAddress: string;
  };
  /** The key was made for this file: it opens nothing else. */
  readonly venuethree: {
    readonly apiKeyPrivateKey: string;
    readonly accountIndex: number;
    readonly apiKeyIndex: number;
    readonly publicKey: string;
    readonly l1Address: string;
  };
  /** `apiSecret` is the key of the agent `apiKey`, made for this file: it opens nothing else. */
  readonly venuefour: { readonly apiKey: string; readonly apiSecret: string; readonly walletAddress: string };
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
  venuethree: {
    apiKeyPrivateKey: "de300000000000000000000000000000000000000000000000000000000000000000000000000003",
    accountIndex: 501,
    apiKeyIndex: 5,
    publicKey: "175dbd0c45bd82ad25c55f1ac7f15ae56dc46f74fd55f5cfc24a651e5db6d09a6e9867f9fabe9b5a",
    l1Address: "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266",
  },
  venuefour: {
    apiKey: "972U2DRmXdfZe4HBdpCh8cHyLshWpr84XsA2EDr3TDQB",
    apiSecret: "4SH7zY4jFKRET312ANfuCsK4dncrssadJLG4Q6fk2C1Be6RMr5CxKjPjyNzJy161qDWgrMP4BbAy8q6Hiso76wMy",
    walletAddress: "8kaA2Vqvcokq33kQMHcDB6vs3kQFpRyrd1qBUub1Kxwm",
  },
};

/** The `credentials` object of a request (interface spec 2.3). */
export function credentialsOf(
  trader: DemoTrader,
): Record<"venueone" | "venuetwo" | "venuethree" | "venuefour", object> {
  const { apiKey, apiSecret, walletAddress } = trader.venuetwo;
  const { apiKeyPrivateKey, accountIndex, apiKeyIndex } = trader.venuethree;
  return {
    venueone: { privateKey: trader.venueone.agentPrivateKey },
    venuetwo: { apiKey, apiSecret, walletAddress },
    venuethree: { apiKeyPrivateKey, accountIndex, apiKeyIndex },
    venuefour: trader.venuefour,
  };
}

/** The demo trader's server wallet, but for its id. */
export const DEMO_WALLET = {
  userId: "demo",
  address: DEMO_TRADER.venueone.address,
} as const;

/** What `x-wallet-id` and `{walletId}` name. The id is all that it takes to trade with the wallet: another at each start. */
export function mintDemoWallet(): typeof DEMO_WALLET & { readonly walletId: string } {
  return { ...DEMO_WALLET, walletId: randomUUID() };
}

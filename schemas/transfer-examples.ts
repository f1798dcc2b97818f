/** Examples of the OpenAPI document for the money of server wallets. Keys are operation ids. */
import { EXAMPLE_ADDRESS, EXAMPLE_TIMESTAMP, exampleReply } from "./example-parts.js";
import { NATIVE_VENUE, WALLET_VENUE } from "./venues.js";

const WALLET_ID = "0b9f3c52-7d0a-4a53-9c64-6f1f3f2f9a10";
const TRANSFER_ID = "7c1f0a3e-64a5-4c0b-9d5e-2a4b6c8d0e1f";
const TX_HASH = "0x4e3a3754410177e6937ef1f84bba68ea139e8d1a2258c5f85db9f1cd715a1bdd";
const TX_URL = `https://explorer.example/tx/${TX_HASH}`;

const DEPOSIT = {
  ...{ txHash: TX_HASH, txUrl: TX_URL, amount: "25.5", token: "USDT", network: "network_56", decimals: 18 },
  ...{ blockNumber: 41_200_317, transferId: TRANSFER_ID, status: "broadcast" },
};

export const EXAMPLE_TRANSFER = {
  ...{ transferId: TRANSFER_ID, kind: "deposit", exchange: NATIVE_VENUE, walletId: WALLET_ID },
  ...{ address: EXAMPLE_ADDRESS, state: "confirmed", reason: null, reasonText: "" },
  ...{ createdAt: 1_790_000_000_412, updatedAt: 1_790_000_040_118, asset: "USDT", amount: "25.5" },
  ...{ venueId: `56:${TX_HASH}`, chainId: 56, network: "network_56", txHash: TX_HASH, txUrl: TX_URL },
  steps: [
    {
      ...{ name: "deposit", txHash: TX_HASH, txUrl: TX_URL, nonce: 4, versions: 1, blockNumber: 41_200_317 },
      ...{ confirmations: 15, isFinal: true, succeeded: true, gasCost: "0.000064" },
    },
  ],
  ...{ isCreditAwaited: false, receiver: null, accountType: null, fee: null, payout: null, paid: null },
  ...{ kindType: null, clientTranId: null },
};

function withdrawal(withdrawalId: string, status: string, network: string, data: object) {
  const shown = { withdrawalId, status, network };
  return {
    ...{ success: true, ...shown },
    data: { ...shown, timestamp: EXAMPLE_TIMESTAMP, transferId: TRANSFER_ID, receiver: EXAMPLE_ADDRESS, ...data },
    timestamp: EXAMPLE_TIMESTAMP,
  };
}

export const TRANSFER_REQUEST_EXAMPLES: Readonly<Record<string, unknown>> = {
  deposit: {
    walletIdOrAddress: "user-42",
    tokenSymbol: "USDT",
    amount: "25.5",
    broker: 1000,
    network: "network_56",
  },
  [`${NATIVE_VENUE}Transfer`]: {
    walletId: WALLET_ID,
    amount: "25.5",
    asset: "USDT",
    clientTranId: "to-perp-1",
    kindType: "SPOT_FUTURE",
  },
  [`${NATIVE_VENUE}Withdraw`]: {
    walletAddress: EXAMPLE_ADDRESS,
    chainId: 56,
    asset: "USDT",
    amount: "25000000000000000000",
    receiver: EXAMPLE_ADDRESS,
    accountType: "spot",
  },
  [`${WALLET_VENUE}Withdraw`]: {
    walletIdOrAddress: "user-42",
    destination: EXAMPLE_ADDRESS,
    amount: "25.5",
    feeBuffer: "1.1",
    chainId: 42_161,
  },
};

export const TRANSFER_REPLY_EXAMPLES: Readonly<Record<string, unknown>> = {
  deposit: exampleReply(DEPOSIT),
  [`${NATIVE_VENUE}Transfer`]: exampleReply({
    ...{ tranId: "13526853623", status: "SUCCESS", asset: "USDT", amount: "25.5", kindType: "SPOT_FUTURE" },
    ...{ clientTranId: "to-perp-1", timestamp: EXAMPLE_TIMESTAMP, transferId: TRANSFER_ID },
  }),
  [`${NATIVE_VENUE}Withdraw`]: withdrawal("1014729574755487744", "submitted", "network_56", {
    ...{ amount: "25", asset: "USDT", chainId: 56, fee: "0.3", feeIsInside: false },
  }),
  [`${WALLET_VENUE}Withdraw`]: withdrawal(TRANSFER_ID, "accepted", "network_42161", {
    ...{ amount: "25.5", asset: "USDC", chainId: 42_161, fee: "1", feeIsInside: true },
  }),
  transfer: exampleReply(EXAMPLE_TRANSFER),
  walletTransfers: exampleReply({ transfers: [EXAMPLE_TRANSFER], nextCursor: null }),
  walletBalances: exampleReply({
    walletId: WALLET_ID,
    address: EXAMPLE_ADDRESS,
    chains: [
      {
        ...{ chainId: 56, network: "network_56", native: "0.021" },
        tokens: [{ symbol: "USDT", address: "0x55d398326f99059ff775485246999027b3197955", amount: "974.5" }],
      },
    ],
    venues: [
      { exchange: NATIVE_VENUE, balances: [{ accountType: "spot", asset: "USDT", free: "25.5" }] },
      {
        exchange: WALLET_VENUE,
        balances: [],
        error: { code: "VENUE_UNAVAILABLE", message: `${WALLET_VENUE} is unavailable` },
      },
    ],
  }),
};

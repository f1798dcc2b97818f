/**
 * Money of the demo: the service's settings for the local chains, and what the co-signer allows there. The addresses are
 * those of the local world (bench/sim/chain), which are nothing on the real chains of these ids.
 */
import { WORLD, type WorldChainId, type WorldToken, worldToken } from "../../bench/sim/chain/world-plan.js";
import { COIN_DECIMALS } from "../../engine/chain.js";
import { CHAIN_IDS } from "../app/config-chain-options.js";
import { NATIVE_VENUE, WALLET_VENUE } from "../../schemas/venues.js";

/** By chain id; none where the chains do not run. */
export type ChainUrls = Readonly<Partial<Record<WorldChainId, string>>>;

/** Blocks come each second: a deposit is seen on its way, and is final soon. */
const CONFIRMATIONS = "3";
/** Of gas and of a token, each day. A wallet of the demo does not come near it. */
const COINS_PER_DAY = 10n;
const TOKENS_PER_DAY = 1_000_000n;

const NATIVE_TOKENS = CHAIN_IDS.map((chainId) => [chainId, worldToken(chainId, "USDT")] as const);
const WALLET_TOKEN = worldToken(42161, "USDC");
const BRIDGE = WORLD[42161].bridge ?? "";

/** Weaker than what a person sets. */
export const MONEY_DEFAULTS = Object.fromEntries(
  CHAIN_IDS.map((chainId) => [`CHAIN_${chainId}_CONFIRMATIONS`, CONFIRMATIONS]),
);

/** Stronger than what a person sets: with local venues no real chain is ever asked, also where no local one runs. */
export function moneySettings(chains: ChainUrls): Record<string, string> {
  const pairOf = (chainId: WorldChainId, { symbol, address, decimals, contract }: WorldToken) => ({
    ...{ chainId, symbol, address, decimals },
    ...(contract === "OldToken" ? { resetsAllowance: true } : {}),
  });
  const native = NATIVE_TOKENS.map(([chainId, token]) => ({ ...pairOf(chainId, token), vault: WORLD[chainId].vault }));
  const wallet = [{ ...pairOf(42161, WALLET_TOKEN), bridge: BRIDGE }];
  return {
    ...Object.fromEntries(CHAIN_IDS.map((chainId) => [`CHAIN_${chainId}_RPC_URLS`, chains[chainId] ?? ""])),
    [`${NATIVE_VENUE.toUpperCase()}_DEPOSIT_PAIRS`]: JSON.stringify(native),
    [`${WALLET_VENUE.toUpperCase()}_DEPOSIT_PAIRS`]: JSON.stringify(wallet),
    // The agent of a wallet may withdraw from this machine.
    [`${NATIVE_VENUE.toUpperCase()}_AGENT_IP_WHITELIST`]: "127.0.0.1",
  };
}

const perDayOf = (decimals: number): string => String(TOKENS_PER_DAY * 10n ** BigInt(decimals));

/** `service` of the co-signer's policy: keys, deposits to both venues, withdrawals to the wallet itself. */
export const MONEY_RULES = {
  chains: CHAIN_IDS.map((chainId) => ({ chainId, perDay: String(COINS_PER_DAY * 10n ** BigInt(COIN_DECIMALS)) })),
  tokens: [
    ...NATIVE_TOKENS.map(([chainId, { address, decimals }]) => ({
      ...{ chainId, token: address, methods: ["approve"], destinations: [WORLD[chainId].vault] },
      perDay: perDayOf(decimals),
    })),
    {
      ...{ chainId: 42161, token: WALLET_TOKEN.address, methods: ["transfer"], destinations: [BRIDGE] },
      perDay: perDayOf(WALLET_TOKEN.decimals),
    },
  ],
  contracts: NATIVE_TOKENS.map(([chainId, { address, decimals }]) => ({
    chainId,
    contract: WORLD[chainId].vault,
    methods: [
      {
        signature: "deposit(address,uint256,uint256)",
        fixed: [{ argument: 0, value: address }],
        amount: { argument: 1, token: address, perDay: perDayOf(decimals) },
        free: [2],
      },
    ],
  })),
  venues: [
    { act: `${WALLET_VENUE}.approveAgent` },
    { act: `${WALLET_VENUE}.withdraw`, token: "USDC", destinations: ["self"], perDay: String(TOKENS_PER_DAY) },
    ...["registerAgent", "approveAgent", "agentThatWithdraws", "deleteAgent"].map((act) => ({
      act: `${NATIVE_VENUE}.${act}`,
    })),
    { act: `${NATIVE_VENUE}.withdraw`, token: "USDT", destinations: ["self"], perDay: String(TOKENS_PER_DAY) },
  ],
};

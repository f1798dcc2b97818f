/**
 * What the local world has on each chain, and where. Addresses follow from the deployer's key and the order of its
 * deployments, so they are the same in every run and can stand in a configuration. None of them is anything on the real
 * chains of these ids, whose tokens and contracts have other addresses.
 */
import { getContractAddress, type Hex, keccak256, toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";

export const WORLD_CHAIN_IDS = [1, 56, 42161] as const;
export type WorldChainId = (typeof WORLD_CHAIN_IDS)[number];

export interface WorldToken {
  readonly symbol: string;
  readonly address: Hex;
  readonly decimals: number;
  /** OldToken: returns nothing, and an allowance that is not zero changes only to zero. */
  readonly contract: "Token" | "OldToken";
}

export interface WorldChain {
  readonly chainId: WorldChainId;
  readonly tokens: Readonly<Record<string, WorldToken>>;
  /** Deposit contract of the venue that has one; it takes USDT and the native coin. */
  readonly vault: Hex;
  /** Address to which USDC is transferred for the other. Null where it has none. */
  readonly bridge: Hex | null;
}

/** Keys of the local world: published, and of no use elsewhere. */
const worldKey = (name: string): Hex => keccak256(toHex(`local world/${name}`));
/** Creates the contracts and mints. */
export const DEPLOYER_KEY = worldKey("deployer");
/** Pays out of the vault. */
export const VAULT_OPERATOR_KEY = worldKey("vault");
/** Pays out of the bridge. */
export const BRIDGE_OPERATOR_KEY = worldKey("bridge");

/** In the order of deployment: tokens, then the vault, then the bridge. */
const TOKENS: Readonly<Record<WorldChainId, readonly Omit<WorldToken, "address">[]>> = {
  1: [{ symbol: "USDT", decimals: 6, contract: "OldToken" }],
  56: [{ symbol: "USDT", decimals: 18, contract: "Token" }],
  42161: [
    { symbol: "USDT", decimals: 6, contract: "Token" },
    { symbol: "USDC", decimals: 6, contract: "Token" },
  ],
};

const deployer = privateKeyToAccount(DEPLOYER_KEY).address;
const addressAt = (nonce: number): Hex => getContractAddress({ from: deployer, nonce: BigInt(nonce) });

function plan(chainId: WorldChainId): WorldChain {
  const tokens = TOKENS[chainId].map(
    (token, nonce) => [token.symbol, { ...token, address: addressAt(nonce) }] as const,
  );
  return {
    chainId,
    tokens: Object.fromEntries(tokens),
    vault: addressAt(tokens.length),
    bridge: chainId === 42161 ? addressAt(tokens.length + 1) : null,
  };
}

export const WORLD: Readonly<Record<WorldChainId, WorldChain>> = { 1: plan(1), 56: plan(56), 42161: plan(42161) };

/** Throws RangeError where the chain has no such token. */
export function worldToken(chainId: WorldChainId, symbol: string): WorldToken {
  const token = WORLD[chainId].tokens[symbol];
  if (token === undefined) throw new RangeError(`no ${symbol} on chain ${chainId}`);
  return token;
}

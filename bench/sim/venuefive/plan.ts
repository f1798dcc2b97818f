/**
 * Where the contracts of the local venuefive lie. Addresses follow from the deployer's key and the order of its
 * deployments, so they are the same in every run. None of them is anything on the real chain of this id.
 */
import { getContractAddress, type Hex, keccak256, toHex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { VenuefiveContract } from "./contracts/artifacts.js";

export const VENUEFIVE_CHAIN_ID = 8453;

/** Keys of this world: published, and of no use elsewhere. */
const worldKey = (name: string): Hex => keccak256(toHex(`local venuefive/${name}`));
/** Creates the contracts, turns their levers and mints. */
export const GOV_KEY = worldKey("gov");
export const KEEPER_KEY = worldKey("keeper");

/** In the order of deployment. */
export const DEPLOYED = [
  "Usdc",
  "PairStorage",
  "PairInfos",
  "PriceAggregator",
  "TradingStorage",
  "TradingCallbacks",
  "Trading",
  "Multicall",
] as const satisfies readonly VenuefiveContract[];

export type VenuefiveAddresses = Readonly<Record<VenuefiveContract, Hex>>;

const gov = privateKeyToAccount(GOV_KEY).address;

export const VENUEFIVE_ADDRESSES = Object.fromEntries(
  DEPLOYED.map((name, nonce) => [name, getContractAddress({ from: gov, nonce: BigInt(nonce) })]),
) as VenuefiveAddresses;

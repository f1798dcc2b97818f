/**
 * The compiled contracts of the local chains. `npm run check` holds them against their sources; after a change of one:
 * `node gateway/launch/contracts.mjs --write`.
 */
import type { Abi, Hex } from "viem";
import committed from "./artifacts.json" with { type: "json" };

export type ContractName = keyof typeof committed.contracts;

export interface Contract {
  readonly abi: Abi;
  /** What creates it, before the encoded arguments of its constructor. */
  readonly bytecode: Hex;
}

export const CONTRACTS = committed.contracts as unknown as Readonly<Record<ContractName, Contract>>;

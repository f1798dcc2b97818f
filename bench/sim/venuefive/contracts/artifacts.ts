/**
 * The compiled contracts of venuefive. `npm run check` holds them against their sources; after a change of one:
 * `node gateway/launch/contracts.mjs --write`.
 */
import type { Contract } from "../../chain/contracts/artifacts.js";
import committed from "./artifacts.json" with { type: "json" };

export type VenuefiveContract = keyof typeof committed.contracts;

export const VENUEFIVE_CONTRACTS = committed.contracts as unknown as Readonly<Record<VenuefiveContract, Contract>>;

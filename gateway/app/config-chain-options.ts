/** The options of chains and of deposits, a part of the one table (config-options.ts); the rules between them are in config-chains.ts. */
import { option } from "./config-option.js";

/** Chains that deposits go over (interface spec 4.3). */
export const CHAIN_IDS = [1, 56, 42161] as const;
export type ChainId = (typeof CHAIN_IDS)[number];

interface ChainDefaults {
  readonly confirmations: number;
  /** Of gas, in gwei. */
  readonly priceMax: number;
  readonly tipMax: number;
}

function chainOptions<const Id extends ChainId>(id: Id, { confirmations, priceMax, tipMax }: ChainDefaults) {
  const rows = {
    [`CHAIN_${id}_RPC_URLS`]: option({
      kind: "list",
      default: [],
      mayHoldKeys: true,
      doc: `JSON-RPC endpoints of chain ${id}, best of several operators: two of them must agree before money counts as arrived. They may contain keys, and are shown nowhere. Empty: no deposits over this chain.`,
    }),
    [`CHAIN_${id}_CONFIRMATIONS`]: option({
      kind: "integer",
      min: 1,
      max: 10_000,
      default: confirmations,
      doc: "Blocks after which a transaction there is final.",
    }),
    [`CHAIN_${id}_GAS_PRICE_MAX_GWEI`]: option({
      kind: "number",
      min: 0.001,
      max: 1_000_000,
      default: priceMax,
      doc: "Highest price of gas there; while it is above, nothing is signed.",
    }),
    [`CHAIN_${id}_TIP_MAX_GWEI`]: option({
      kind: "number",
      min: 0,
      max: 1_000_000,
      default: tipMax,
      doc: "Highest tip as a part of it.",
    }),
    [`EXPLORER_URL_${id}`]: option({
      kind: "optional-url",
      default: "",
      doc: `Base URL of an explorer of chain ${id}: \`txUrl\` of a reply is it, \`/tx/\` and the hash. Empty: \`txUrl\` is empty.`,
    }),
  };
  return rows as {
    readonly [Name in `CHAIN_${Id}_RPC_URLS`]: Extract<(typeof rows)[string], { readonly kind: "list" }>;
  } & {
    readonly [Name in `CHAIN_${Id}_CONFIRMATIONS`]: Extract<(typeof rows)[string], { readonly kind: "integer" }>;
  } & {
    readonly [Name in `CHAIN_${Id}_${"GAS_PRICE" | "TIP"}_MAX_GWEI`]: Extract<
      (typeof rows)[string],
      { readonly kind: "number" }
    >;
  } & {
    readonly [Name in `EXPLORER_URL_${Id}`]: Extract<(typeof rows)[string], { readonly kind: "optional-url" }>;
  };
}

export const CHAIN_OPTIONS = {
  ...chainOptions(1, { confirmations: 32, priceMax: 200, tipMax: 5 }),
  ...chainOptions(56, { confirmations: 15, priceMax: 20, tipMax: 5 }),
  ...chainOptions(42161, { confirmations: 64, priceMax: 10, tipMax: 1 }),
  RECONCILE_INTERVAL_MS: option({
    kind: "integer",
    min: 0,
    max: 604_800_000,
    default: 3_600_000,
    doc: "Between two comparisons of the ledger with chains, venues and the co-signer by the clock (`unwind reconcile` runs one at once). 0: none.",
  }),
  DEPOSIT_WAIT_MS: option({
    kind: "integer",
    min: 0,
    max: 120_000,
    default: 20_000,
    doc: "The reply to a deposit waits so long for the first block that has it; then it says `broadcast` and names no block.",
  }),
};

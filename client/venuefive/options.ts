/** What a caller sets, with the defaults of the rest. A wrong option throws when trading is created, not with the first order. */
import { type Address, type Client, isAddress } from "viem";
import { VENUEFIVE_ADDRESSES, VENUEFIVE_CHAIN_ID, VENUEFIVE_PAIRS } from "../../schemas/venuefive/contracts.js";
import { SYSTEM_CLOCK } from "../api/clock.js";
import type { PriceUpdate, VenuefiveAddresses } from "./contract-calls.js";
import type { VenuefivePairs } from "./open-order.js";
import type { OnStep } from "./steps.js";
import { VenuefiveTradeError } from "./trade-error.js";

/** `sent`: the hash is known. `mined`: the transaction is in its block. `executed`: the keeper has executed the order too. */
export type WaitFor = "sent" | "mined" | "executed";

export interface VenuefiveTimeouts {
  /** Of one read of the chain. */
  readonly readMs: number;
  /** Of the wallet's answer, in which its user decides. */
  readonly signMs: number;
  /** From the send to the block. */
  readonly minedMs: number;
  /** From the block to the keeper's execution. */
  readonly executedMs: number;
  /** After which a transaction that was seen and is not any more counts as dropped. */
  readonly droppedMs: number;
  /** How long reads may be behind a receipt. */
  readonly lagMs: number;
  /** Between two looks at the chain. */
  readonly pollMs: number;
}

const TIMEOUTS: VenuefiveTimeouts = {
  readMs: 15_000,
  signMs: 600_000,
  minedMs: 180_000,
  executedMs: 120_000,
  droppedMs: 60_000,
  lagMs: 30_000,
  pollMs: 1_000,
};

/** Time as this library needs it. */
export interface TradingClock {
  /** Monotonic ms. */
  monoMs(): number;
  /** Calls once; the returned function prevents it. */
  after(ms: number, callback: () => void): () => void;
}

/** viem clients, those of wagmi too; any of viem's kinds, since only its actions are used on them. */
export interface VenuefiveTradingOptions {
  /** Reads. */
  readonly publicClient: Client;
  /** Signs; null or absent while no wallet is connected. */
  readonly walletClient?: Client | null | undefined;
  /** Default 8453. */
  readonly chainId?: number | undefined;
  /** Pair indexes by symbol; default the map of the interface spec, which is not that of the live chain. */
  readonly pairs?: VenuefivePairs | undefined;
  /** Of those that differ from the published ones. */
  readonly addresses?: Partial<VenuefiveAddresses> | undefined;
  /** Default true: the chain must have the symbol under its index before an order names it. */
  readonly symbolGuard?: boolean | undefined;
  /** Of market orders, limit orders and closes; default by the gas price, and 0.00035 ETH where there is none. */
  readonly executionFeeWei?: bigint | undefined;
  /** The fee by the gas price is refused above it, since it is never refunded. Default 0.01 ETH. */
  readonly executionFeeWeiMax?: bigint | undefined;
  /** Default exact: of the order's collateral. */
  readonly approve?: "exact" | "max" | undefined;
  /** Default mined. */
  readonly waitFor?: WaitFor | undefined;
  /** The oracle's bytes, which `updateMargin` and `updateTpAndSl` need. */
  readonly getPriceUpdate?: ((pairIndex: number) => Promise<PriceUpdate>) | undefined;
  readonly onStep?: OnStep | undefined;
  readonly timeouts?: Partial<VenuefiveTimeouts> | undefined;
  /** Default this machine's. */
  readonly clock?: TradingClock | undefined;
}

const ONE_ETHER_WEI = 10n ** 18n;

export interface TradingConfig {
  readonly publicClient: Client;
  readonly walletClient: Client | null;
  readonly chainId: number;
  readonly pairs: VenuefivePairs;
  readonly addresses: VenuefiveAddresses;
  readonly symbolGuard: boolean;
  readonly executionFeeWei: bigint | null;
  readonly executionFeeWeiMax: bigint;
  readonly approve: "exact" | "max";
  readonly waitFor: WaitFor;
  readonly getPriceUpdate: ((pairIndex: number) => Promise<PriceUpdate>) | null;
  readonly onStep: OnStep | null;
  readonly timeouts: VenuefiveTimeouts;
  readonly clock: TradingClock;
}

const SPEC_PAIRS: VenuefivePairs = /* @__PURE__ */ Object.fromEntries(
  VENUEFIVE_PAIRS.map((symbol, pairIndex) => [symbol, pairIndex]),
);

export function tradingConfig(options: VenuefiveTradingOptions): TradingConfig {
  const { executionFeeWei = null, executionFeeWeiMax = ONE_ETHER_WEI / 100n } = options;
  for (const fee of [executionFeeWei, executionFeeWeiMax])
    if (fee !== null && (typeof fee !== "bigint" || fee < 0n)) throw wrong("a fee must be a bigint of wei");
  return {
    publicClient: options.publicClient,
    walletClient: options.walletClient ?? null,
    chainId: options.chainId ?? VENUEFIVE_CHAIN_ID,
    pairs: options.pairs === undefined ? SPEC_PAIRS : checkedPairs(options.pairs),
    addresses: checkedAddresses({ ...VENUEFIVE_ADDRESSES, ...given(options.addresses ?? {}) }),
    symbolGuard: options.symbolGuard ?? true,
    executionFeeWei,
    executionFeeWeiMax,
    approve: oneOf(options.approve ?? "exact", ["exact", "max"], "approve"),
    waitFor: checkedWaitFor(options.waitFor ?? "mined"),
    getPriceUpdate: options.getPriceUpdate ?? null,
    onStep: options.onStep ?? null,
    timeouts: checkedTimeouts({ ...TIMEOUTS, ...given(options.timeouts ?? {}) }),
    clock: options.clock ?? SYSTEM_CLOCK,
  };
}

export const checkedWaitFor = (waitFor: WaitFor): WaitFor => oneOf(waitFor, ["sent", "mined", "executed"], "waitFor");

function checkedPairs(pairs: VenuefivePairs): VenuefivePairs {
  const seen = new Set<number>();
  for (const [symbol, pairIndex] of Object.entries(pairs)) {
    if (symbol !== symbol.toUpperCase()) throw wrong(`pairs: ${symbol} must be in capitals`);
    if (!Number.isSafeInteger(pairIndex) || pairIndex < 0) throw wrong(`pairs: ${symbol} has no index`);
    if (seen.has(pairIndex)) throw wrong(`pairs: ${pairIndex} is the index of two symbols`);
    seen.add(pairIndex);
  }
  return pairs;
}

function checkedAddresses(addresses: VenuefiveAddresses): VenuefiveAddresses {
  for (const [name, address] of Object.entries(addresses))
    if (!isAddress(address as Address)) throw wrong(`addresses: ${name} is no address`);
  return addresses;
}

function checkedTimeouts(timeouts: VenuefiveTimeouts): VenuefiveTimeouts {
  for (const [name, ms] of Object.entries(timeouts))
    if (typeof ms !== "number" || !(ms > 0)) throw wrong(`timeouts: ${name} must be above zero`);
  return timeouts;
}

/** Without what is there as undefined. */
function given<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>;
}

function oneOf<T extends string>(value: T, allowed: readonly T[], name: string): T {
  if (!allowed.includes(value)) throw wrong(`${name} must be one of ${allowed.join(", ")}`);
  return value;
}

const wrong = (message: string): VenuefiveTradeError => new VenuefiveTradeError("INVALID_OPTIONS", message);

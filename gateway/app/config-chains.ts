/**
 * Chains, and what deposits need of them. Invariant: no problem, and nothing that is logged, quotes the URL of an endpoint:
 * it may contain a key.
 */
import { CHAIN_IDS, type ChainId } from "./config-chain-options.js";
import type { OptionValues } from "./config-options.js";
import { isSafeUrl } from "./config-urls.js";

export interface ChainConfig {
  readonly chainId: ChainId;
  readonly rpcUrls: readonly string[];
  readonly confirmations: number;
  /** Wei for each unit of gas. */
  readonly gasLimits: { readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint };
}

export interface TransferConfig {
  /** Those that have endpoints. */
  readonly chains: readonly ChainConfig[];
  /** By chain id, without a slash at its end; only those that are set. */
  readonly explorerUrls: ReadonlyMap<number, string>;
  readonly depositWaitMs: number;
  /** Between comparisons by the clock; 0: none. */
  readonly reconcileIntervalMs: number;
}

/** `mustBeSafe`: endpoints of other machines are to be https. */
export function readTransfers(values: OptionValues, mustBeSafe: boolean, problems: string[]): TransferConfig {
  const chains = CHAIN_IDS.map((chainId) => readChain(values, chainId, mustBeSafe, problems));
  return {
    chains: chains.filter(({ rpcUrls }) => rpcUrls.length > 0),
    explorerUrls: new Map(
      CHAIN_IDS.flatMap((chainId) => {
        const url = values[`EXPLORER_URL_${chainId}`];
        return url === "" ? [] : [[chainId, url] as const];
      }),
    ),
    depositWaitMs: values.DEPOSIT_WAIT_MS,
    reconcileIntervalMs: values.RECONCILE_INTERVAL_MS,
  };
}

function readChain(values: OptionValues, chainId: ChainId, mustBeSafe: boolean, problems: string[]): ChainConfig {
  const name = `CHAIN_${chainId}_RPC_URLS` as const;
  const priceName = `CHAIN_${chainId}_GAS_PRICE_MAX_GWEI` as const;
  const tipName = `CHAIN_${chainId}_TIP_MAX_GWEI` as const;
  const rpcUrls = values[name];
  const seen = new Set<string>();
  for (const [index, text] of rpcUrls.entries()) {
    const which = `${name}: endpoint ${index + 1}`;
    if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
      problems.push(`${which} must be a URL of http or https`);
      continue;
    }
    const { href } = new URL(text);
    // One endpoint twice would agree with itself.
    if (seen.has(href)) problems.push(`${which} is there twice`);
    seen.add(href);
    if (mustBeSafe && !isSafeUrl(text)) problems.push(`${which} must be https unless it is on this machine`);
  }
  if (values[tipName] > values[priceName])
    problems.push(`${tipName} (${values[tipName]}) must not be above ${priceName} (${values[priceName]})`);
  return {
    ...{ chainId, rpcUrls, confirmations: values[`CHAIN_${chainId}_CONFIRMATIONS`] },
    gasLimits: { maxFeePerGas: weiOf(values[priceName]), maxPriorityFeePerGas: weiOf(values[tipName]) },
  };
}

/** An operator's limit, to the thousandth of a gwei. */
function weiOf(gwei: number): bigint {
  return BigInt(Math.round(gwei * 1_000)) * 1_000_000n;
}

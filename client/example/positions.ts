/** What the contracts store of an address, read by the page itself: the hook trades, and reads nothing for show. */
import { useEffect, useState } from "react";
import { type Address, erc20Abi, formatUnits, type PublicClient, parseAbi } from "viem";
import type { ExampleFacts } from "./facts.js";

export interface ShownPosition {
  readonly symbol: string;
  readonly direction: "LONG" | "SHORT";
  readonly pairIndex: number;
  readonly tradeIndex: number;
  /** Decimal texts: tokens, USDC, USD. */
  readonly size: string;
  readonly collateral: string;
  readonly openPrice: string;
  readonly leverage: string;
}

export interface ShownAccount {
  readonly usdc: string;
  readonly positions: readonly ShownPosition[];
}

const STORAGE = parseAbi([
  "struct Trade { address trader; uint256 pairIndex; uint256 index; uint256 initialPosToken; uint256 positionSizeUSDC; uint256 openPrice; bool buy; uint256 leverage; uint256 tp; uint256 sl; uint256 timestamp; }",
  "function openTrades(address trader, uint256 pairIndex, uint256 index) view returns (Trade)",
  "function openTradesCount(address trader, uint256 pairIndex) view returns (uint256)",
]);
const POLL_MS = 1_000;
const USDC_DECIMALS = 6;
const DECIMALS = 10;
/** As many as the local contracts keep of an address on a pair. */
const SLOTS = 40;

type Reader = Pick<PublicClient, "readContract" | "multicall">;

export async function readAccount(
  reader: Reader,
  { addresses, pairs }: Pick<ExampleFacts, "addresses" | "pairs">,
  trader: Address,
): Promise<ShownAccount> {
  const common = { allowFailure: false, multicallAddress: addresses.Multicall } as const;
  const call = { address: addresses.TradingStorage, abi: STORAGE } as const;
  const usdc = await reader.readContract({
    ...{ address: addresses.USDC, abi: erc20Abi, functionName: "balanceOf" },
    args: [trader],
  });
  const counts = await reader.multicall({
    ...common,
    contracts: pairs.map(
      (_, at) => ({ ...call, functionName: "openTradesCount", args: [trader, BigInt(at)] }) as const,
    ),
  });
  const slots = counts.flatMap((count, at) =>
    count === 0n ? [] : Array.from({ length: SLOTS }, (_, slot) => [trader, BigInt(at), BigInt(slot)] as const),
  );
  const trades = await reader.multicall({
    ...common,
    contracts: slots.map((args) => ({ ...call, functionName: "openTrades", args }) as const),
  });
  return {
    usdc: formatUnits(usdc, USDC_DECIMALS),
    // An empty slot is all zeros.
    positions: trades.filter(({ leverage }) => leverage > 0n).map((trade) => shown(trade, pairs)),
  };
}

export interface StoredTrade {
  readonly pairIndex: bigint;
  readonly index: bigint;
  readonly initialPosToken: bigint;
  readonly openPrice: bigint;
  readonly buy: boolean;
  readonly leverage: bigint;
}

function shown(trade: StoredTrade, pairs: ExampleFacts["pairs"]): ShownPosition {
  const { initialPosToken: collateralE6, leverage: leverageE10, openPrice: priceE10 } = trade;
  const pairIndex = Number(trade.pairIndex);
  // Rounded down, to the places of a price.
  const sizeE10 = (collateralE6 * leverageE10 * 10n ** BigInt(DECIMALS - USDC_DECIMALS)) / priceE10;
  return {
    symbol: pairs[pairIndex]?.symbol ?? `pair ${pairIndex}`,
    direction: trade.buy ? "LONG" : "SHORT",
    pairIndex,
    tradeIndex: Number(trade.index),
    size: formatUnits(sizeE10, DECIMALS),
    collateral: formatUnits(collateralE6, USDC_DECIMALS),
    openPrice: formatUnits(priceE10, DECIMALS),
    leverage: formatUnits(leverageE10, DECIMALS),
  };
}

/** Undefined until the first read; `isStale` where the newest read failed. */
export function useAccount(
  reader: Reader,
  facts: ExampleFacts,
  trader: Address | undefined,
): { readonly account: ShownAccount | undefined; readonly isStale: boolean } {
  const [account, setAccount] = useState<ShownAccount>();
  const [isStale, setStale] = useState(false);
  useEffect(() => {
    if (trader === undefined) return;
    let isCurrent = true;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (): Promise<void> => {
      const found = await readAccount(reader, facts, trader).catch(() => undefined);
      if (!isCurrent) return;
      if (found !== undefined) setAccount(found);
      setStale(found === undefined);
      timer = setTimeout(() => void look(), POLL_MS);
    };
    void look();
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [reader, facts, trader]);
  return { account, isStale };
}

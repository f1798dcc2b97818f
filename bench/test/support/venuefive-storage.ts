/** What the contracts of the local venuefive have of a trader, as the routes are to show it: read and computed without the room. */
import { formatUnits, type Hex } from "viem";
import type { StoredTrade } from "../../../client/example/positions.js";
import { SPEC_PAIRS } from "../../sim/venuefive/pairs.js";
import type { VenuefiveWorld } from "../../sim/venuefive/world.js";

interface TimedTrade extends StoredTrade {
  readonly timestamp: bigint;
}
interface StoredOrder {
  readonly positionSize: bigint;
  readonly buy: boolean;
  readonly leverage: bigint;
  readonly price: bigint;
  readonly slippageP: bigint;
}

/** No trader of a test has more of one pair. */
const SLOTS = 4;
const price = (value: bigint): string => formatUnits(value, 10);
const usdc = (value: bigint): string => formatUnits(value, 6);
const direction = (buy: boolean): string => (buy ? "LONG" : "SHORT");

/** Base units: collateral times leverage at the price, down. */
function sizeOf(collateral: bigint, leverage: bigint, at: bigint): string {
  return price((((collateral * leverage) / 10n ** 10n) * 10n ** 20n) / at / 10n ** 6n);
}

export interface StoredPosition {
  readonly symbol: string;
  readonly direction: string;
  readonly size: string;
  readonly entryPrice: string;
  readonly liquidationPrice: string;
  readonly collateral: string;
  readonly leverage: number;
  readonly timestamp: number;
}

/** In the order of pairs and slots. Throws where the storage counts more than were looked through. */
export async function storedPositions(
  world: VenuefiveWorld,
  trader: Hex,
  pairs: readonly number[],
): Promise<readonly StoredPosition[]> {
  const rows: StoredPosition[] = [];
  for (const pair of pairs) {
    const before = rows.length;
    for (let slot = 0; slot < SLOTS; slot++) {
      const trade = await world.read<TimedTrade>("TradingStorage", "openTrades", [trader, pair, slot]);
      if (trade.leverage === 0n) continue;
      const liquidation = await world.read<bigint>("Multicall", "getLiquidationPrice", [trader, pair, slot]);
      rows.push({
        ...{ symbol: SPEC_PAIRS[pair]?.symbol ?? `PAIR_${pair}`, direction: direction(trade.buy) },
        size: sizeOf(trade.initialPosToken, trade.leverage, trade.openPrice),
        ...{ entryPrice: price(trade.openPrice), liquidationPrice: price(liquidation) },
        ...{ collateral: usdc(trade.initialPosToken), leverage: Number(price(trade.leverage)) },
        timestamp: Number(trade.timestamp) * 1_000,
      });
    }
    const count = Number(await world.read<bigint>("TradingStorage", "openTradesCount", [trader, pair]));
    if (count !== rows.length - before) throw new Error(`pair ${pair} has ${count} positions`);
  }
  return rows;
}

export interface RestingOrder {
  readonly direction: string;
  readonly orderType: string;
  readonly price: string;
  readonly size: string;
  readonly collateral: string;
  readonly leverage: number;
  readonly slippagePercent: string;
}

export async function storedOrders(world: VenuefiveWorld, trader: Hex, pair: number): Promise<readonly RestingOrder[]> {
  const rows: RestingOrder[] = [];
  for (let slot = 0; slot < SLOTS; slot++) {
    const place = [trader, pair, slot];
    if (!(await world.read<boolean>("TradingStorage", "hasOpenLimitOrder", place))) continue;
    const order = await world.read<StoredOrder>("TradingStorage", "getOpenLimitOrder", place);
    const type = await world.read<number>("TradingStorage", "openLimitOrderTypes", place);
    rows.push({
      ...{ direction: direction(order.buy), orderType: type === 1 ? "STOP_LIMIT" : "LIMIT" },
      ...{ price: price(order.price), size: sizeOf(order.positionSize, order.leverage, order.price) },
      ...{ collateral: usdc(order.positionSize), leverage: Number(price(order.leverage)) },
      slippagePercent: price(order.slippageP),
    });
  }
  return rows;
}

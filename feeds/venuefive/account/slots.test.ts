import { decodeFunctionResult, encodeFunctionResult, type Hex, parseAbi } from "viem";
import { describe, expect, it } from "vitest";
import { createSeededRandom } from "../../../engine/domain/random.js";
import { MULTICALL_ABI } from "../../../schemas/venuefive/abi.js";
import { readSlots } from "./slots.js";

const ABI = parseAbi(MULTICALL_ABI);
const TRADER = `0x${"7a".repeat(20)}` as const;
const EMPTY = `0x${"0".repeat(40)}` as const;
const PAGE = "getPositionsForPairIndexes";
const random = createSeededRandom(61_026);
const below = (max: number): bigint => BigInt(Math.floor(random.next() * max));

/** Every field another number, so that one that is read from a neighbour's place shows. */
function aTrade(pairIndex: bigint, index: bigint, isFull = true) {
  const some = (max: number): bigint => (isFull ? below(max) + 1n : 0n);
  return {
    trade: {
      ...{ trader: isFull ? TRADER : EMPTY, pairIndex: isFull ? pairIndex : 0n, index: isFull ? index : 0n },
      ...{
        initialPosToken: some(1e12),
        positionSizeUSDC: some(2e9),
        openPrice: some(1e15),
        buy: isFull && below(2) === 1n,
      },
      ...{ leverage: some(1e12), tp: some(1e15), sl: below(2) * some(1e15), timestamp: some(2e9) },
    },
    tradeInfo: {
      ...{ openInterestUSDC: some(1e12), tpLastUpdated: some(1e8), slLastUpdated: some(1e8) },
      ...{ beingMarketClosed: isFull && below(2) === 1n, lossProtection: below(3) },
    },
    ...{ rolloverFee: below(1e7), liquidationPrice: some(1e15), isPnl: isFull && below(2) === 1n },
  };
}

function anOrder(pairIndex: bigint, index: bigint, isFull = true) {
  const some = (max: number): bigint => (isFull ? below(max) + 1n : 0n);
  return {
    order: {
      ...{ trader: isFull ? TRADER : EMPTY, pairIndex: isFull ? pairIndex : 0n, index: isFull ? index : 0n },
      ...{
        positionSize: some(1e12),
        buy: isFull && below(2) === 1n,
        leverage: some(1e12),
        tp: some(1e15),
        sl: below(1e15),
      },
      ...{ price: some(1e15), slippageP: some(1e12), block: some(1e8), executionFee: some(1e15) },
    },
    liquidationPrice: some(1e15),
  };
}

function encoded(trades: readonly ReturnType<typeof aTrade>[], orders: readonly ReturnType<typeof anOrder>[]): Hex {
  return encodeFunctionResult({ abi: ABI, functionName: PAGE, result: [trades, orders] });
}

/** The same by viem's own decoder. */
function byViem(data: Hex): unknown {
  const [trades, orders] = decodeFunctionResult({ abi: ABI, functionName: PAGE, data });
  return {
    trades: trades
      .filter(({ trade }) => trade.leverage > 0n)
      .map(({ trade, tradeInfo, rolloverFee, liquidationPrice, isPnl }) => ({
        ...{ trader: trade.trader.toLowerCase(), pairIndex: Number(trade.pairIndex), index: Number(trade.index) },
        ...{
          collateral: trade.initialPosToken,
          openPrice: trade.openPrice,
          isLong: trade.buy,
          leverage: trade.leverage,
        },
        ...{
          tp: trade.tp,
          sl: trade.sl,
          openedAt: Number(trade.timestamp),
          isBeingClosed: tradeInfo.beingMarketClosed,
        },
        ...{ rolloverFee, liquidationPrice, isZeroFee: isPnl },
      })),
    orders: orders
      .filter(({ order }) => order.leverage > 0n)
      .map(({ order, liquidationPrice }) => ({
        ...{ trader: order.trader.toLowerCase(), pairIndex: Number(order.pairIndex), index: Number(order.index) },
        ...{ collateral: order.positionSize, isLong: order.buy, leverage: order.leverage, tp: order.tp, sl: order.sl },
        ...{ price: order.price, slippage: order.slippageP, block: Number(order.block), liquidationPrice },
      })),
  };
}

describe("a page of slots", () => {
  it("is what viem decodes, without empty rows: sparse arrays, as v1.5 has them", () => {
    for (let page = 0; page < 50; page++) {
      const slots = Array.from(
        { length: 12 * 4 },
        (_, slot) => [BigInt(Math.floor(slot / 4)), BigInt(slot % 4)] as const,
      );
      const data = encoded(
        slots.map(([pair, index]) => aTrade(pair, index, below(5) === 0n)),
        slots.map(([pair, index]) => anOrder(pair, index, below(5) === 0n)),
      );
      expect(readSlots(data)).toEqual(byViem(data));
    }
  });

  it("is what viem decodes: compact arrays of any length, none too", () => {
    for (let page = 0; page < 50; page++) {
      const data = encoded(
        Array.from({ length: Number(below(4)) }, () => aTrade(below(100), below(40))),
        Array.from({ length: Number(below(4)) }, () => anOrder(below(100), below(40))),
      );
      expect(readSlots(data)).toEqual(byViem(data));
    }
    expect(readSlots(encoded([], []))).toEqual({ trades: [], orders: [] });
  });

  const good = encoded([aTrade(1n, 2n)], [anOrder(1n, 3n)]);
  const word = (at: number, value: string): string =>
    `${good.slice(0, 2 + at * 64)}${value.padStart(64, "0")}${good.slice(2 + (at + 1) * 64)}`;
  it.each<[string, unknown]>([
    ["nothing, as where no contract is", "0x"],
    ["no text", null],
    ["no hex", `${good.slice(0, -1)}g`],
    ["half a word", good.slice(0, -2)],
    ["an end before its last row", good.slice(0, -64)],
    ["only its head", good.slice(0, 2 + 128)],
    ["an array far away", word(0, "ffffffffffffffff")],
    ["an array within a word", word(0, "41")],
    ["an array of more rows than there are", word(2, "ff")],
    ["an array without end", word(2, "ff".repeat(32))],
    ["an address that is longer", word(3, `1${"7a".repeat(20)}`)],
    ["a direction that is none", word(9, "2")],
    ["a time beyond all", word(13, "ff".repeat(8))],
  ])("is a fault where it is %s", (_, data) => {
    expect(() => readSlots(data)).toThrow(expect.objectContaining({ name: "ServiceError" }) as Error);
  });
});

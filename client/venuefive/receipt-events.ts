/** What a receipt shows of the contracts' own words. Pure. */
import { type Address, decodeEventLog, type Log, type TransactionReceipt } from "viem";
import { TRADING, TRADING_CALLBACKS } from "./contract-calls.js";

type Arguments = Readonly<Record<string, unknown>>;

/** An event of the trader that a transaction must have where the contract did what it was asked. */
export interface ExpectedEvent {
  readonly name: string;
  /** Those that are certain before the send. */
  readonly args: Arguments;
}

/** Other events have an `orderId` too, which the oracle has answered in the same transaction. */
export const WAITING_ORDER = "MarketOrderInitiated";

/** Of an order that waits for the keeper. */
export const orderEvent = (pairIndex: number | bigint, more: Arguments): ExpectedEvent => ({
  name: WAITING_ORDER,
  args: { pairIndex: BigInt(pairIndex), ...more },
});

export function openEvent({
  pairIndex,
  isBuy,
  isMarket,
}: {
  readonly pairIndex: number | bigint;
  readonly isBuy: boolean;
  readonly isMarket: boolean;
}): ExpectedEvent {
  if (isMarket) return orderEvent(pairIndex, { open: true, isBuy });
  return { name: "OpenLimitPlaced", args: { pairIndex: BigInt(pairIndex), isBuy } };
}

export const slotEvent = (
  name: string,
  pair: number | bigint,
  index: number | bigint,
  more: Arguments = {},
): ExpectedEvent => ({ name, args: { pairIndex: BigInt(pair), index: BigInt(index), ...more } });

export interface DecodedEvent {
  readonly eventName?: string;
  readonly args?: Arguments;
}

/** Its arguments; null where the receipt has no such event. The callbacks have events of the same names as the trading. */
export function eventOf(
  { logs }: Pick<TransactionReceipt, "logs">,
  trading: Address,
  trader: Address,
  { name, args: wanted }: ExpectedEvent,
): Arguments | null {
  for (const log of logs) {
    const { eventName, args } = decoded(isSame(log.address, trading) ? TRADING : TRADING_CALLBACKS, log) ?? {};
    if (eventName !== name || args === undefined || !isSame(String(args["trader"]), trader)) continue;
    if (Object.entries(wanted).every(([field, value]) => args[field] === value)) return args;
  }
  return null;
}

/** Undefined for an event of another description. */
export function decoded(
  abi: typeof TRADING | typeof TRADING_CALLBACKS,
  { topics, data }: Log,
): DecodedEvent | undefined {
  try {
    return decodeEventLog({ abi: abi as typeof TRADING, topics, data }) as unknown as DecodedEvent;
  } catch {
    return undefined;
  }
}

export const isSame = (a: string | null, b: string): boolean => a?.toLowerCase() === b.toLowerCase();

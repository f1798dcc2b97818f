/**
 * The second step of a market order or a close: the wait for the keeper's event that ends it. The logs are read from the
 * receipt's block on, as often as it takes: a node that lags shows them later.
 */
import type { Address, Hex, Log, TransactionReceipt } from "viem";
import type { ChainReader } from "./chain-reader.js";
import { TRADING_CALLBACKS } from "./contract-calls.js";
import type { TradingConfig } from "./options.js";
import { textE10 } from "./quantities.js";
import { decoded, isSame } from "./receipt-events.js";
import { VenuefiveTradeError } from "./trade-error.js";
import { pause } from "./within.js";

export interface Execution {
  readonly price: string;
  readonly executedTxHash: Hex | null;
}

interface KeeperEvent {
  readonly name: string;
  readonly orderId: bigint;
  readonly price: bigint | null;
  readonly txHash: Hex | null;
  readonly blockNumber: bigint | null;
}

/** A market order or a close in its block. */
export interface WaitingOrder {
  readonly receipt: TransactionReceipt;
  readonly orderId: bigint;
  readonly trader: Address;
}

/** Throws ORDER_CANCELED where the keeper gave it up, EXECUTION_TIMEOUT where it did neither in time. */
export async function executed(config: TradingConfig, reader: ChainReader, order: WaitingOrder): Promise<Execution> {
  const { receipt, orderId } = order;
  const { clock, timeouts } = config;
  const txHash = receipt.transactionHash;
  const endMs = clock.monoMs() + timeouts.executedMs;
  for (;;) {
    const { event, problem } = await look(config, reader, order);
    if (event?.name === "MarketOpenCanceled")
      throw new VenuefiveTradeError("ORDER_CANCELED", "the keeper has given the order up", {
        ...{ outcome: "failed", txHash, details: { orderId: String(orderId), canceledTxHash: event.txHash } },
      });
    if (event !== null) return { price: textE10(event.price ?? 0n), executedTxHash: event.txHash };
    if (clock.monoMs() >= endMs) throw await tooLate(reader, order, problem);
    await pause(clock, timeouts.pollMs);
  }
}

/** It is pending only where the storage still has it waiting: its event may be in logs that are not shown. */
async function tooLate(
  reader: ChainReader,
  { receipt, orderId, trader }: WaitingOrder,
  problem: unknown,
): Promise<VenuefiveTradeError> {
  const waiting = await reader.pendingOrderIds(trader).catch((): readonly bigint[] => []);
  const isWaiting = problem === null && waiting.includes(orderId);
  const message = isWaiting
    ? "the order waits for the keeper, and may still be executed"
    : "no event shows what the keeper did with the order, or will do";
  return new VenuefiveTradeError("EXECUTION_TIMEOUT", message, {
    ...{ outcome: isWaiting ? "pending" : "unknown", txHash: receipt.transactionHash },
    details: { orderId: String(orderId) },
    ...(problem === null ? {} : { cause: problem }),
  });
}

async function look(
  { addresses }: TradingConfig,
  reader: ChainReader,
  { receipt, orderId, trader }: WaitingOrder,
): Promise<{ readonly event: KeeperEvent | null; readonly problem: unknown }> {
  try {
    const emitters = [await reader.callbacks(), addresses.TradingStorage];
    const logs = await reader.node.logsFrom(receipt.blockNumber, emitters);
    const event = keeperEvent(logs, orderId, trader);
    reader.node.note(event?.blockNumber ?? null);
    return { event, problem: null };
  } catch (problem) {
    return { event: null, problem };
  }
}

/** An execution has its trader in the trade alone. */
function keeperEvent(logs: readonly Log[], orderId: bigint, trader: Address): KeeperEvent | null {
  for (const log of logs) {
    const { eventName: name, args } = decoded(TRADING_CALLBACKS, log) ?? {};
    if ((name !== "MarketExecuted" && name !== "MarketOpenCanceled") || args?.["orderId"] !== orderId) continue;
    const { trader: whose } = (name === "MarketExecuted" ? args["t"] : args) as { readonly trader: Address };
    if (!isSame(whose, trader)) continue;
    const price = typeof args["price"] === "bigint" ? args["price"] : null;
    return { name, orderId, price, txHash: log.transactionHash, blockNumber: log.blockNumber };
  }
  return null;
}

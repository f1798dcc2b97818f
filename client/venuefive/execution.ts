/**
 * The second step of a market order or a close: the keeper's. What the first step's receipt says of it, and the wait for
 * the event that ends it. The logs are read from the receipt's block on, as often as it takes: a node that lags shows
 * them later.
 */
import { type Address, decodeEventLog, type Hex, type Log, type TransactionReceipt } from "viem";
import { type ChainReader, KEEPER_EVENTS } from "./chain-reader.js";
import { TRADING } from "./contract-calls.js";
import type { TradingConfig } from "./options.js";
import { textE10 } from "./quantities.js";
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
}

/** Under which the order waits for the keeper; null where the receipt shows none. */
export function orderIdOf(receipt: TransactionReceipt, trading: Address, trader: Address): bigint | null {
  for (const log of receipt.logs) {
    if (!isSame(log.address, trading)) continue;
    const { eventName, args } = decoded(TRADING, log) ?? {};
    if (eventName !== "MarketOrderInitiated" || args === undefined) continue;
    if (isSame(String(args["trader"]), trader)) return args["orderId"] as bigint;
  }
  return null;
}

/** Throws ORDER_CANCELED where the keeper gave it up, EXECUTION_TIMEOUT where it did neither in time. */
export async function executed(
  config: TradingConfig,
  reader: ChainReader,
  { receipt, orderId }: { readonly receipt: TransactionReceipt; readonly orderId: bigint },
): Promise<Execution> {
  const { clock, timeouts } = config;
  const txHash = receipt.transactionHash;
  const endMs = clock.monoMs() + timeouts.executedMs;
  for (;;) {
    const { event, problem } = await look(config, reader, receipt.blockNumber, orderId);
    if (event?.name === "MarketOpenCanceled")
      throw new VenuefiveTradeError("ORDER_CANCELED", "the keeper has given the order up", {
        ...{ outcome: "failed", txHash, details: { orderId: String(orderId), canceledTxHash: event.txHash } },
      });
    if (event !== null) return { price: textE10(event.price ?? 0n), executedTxHash: event.txHash };
    if (clock.monoMs() >= endMs) throw tooLate(txHash, orderId, problem);
    await pause(clock, timeouts.pollMs);
  }
}

/** Logs that cannot be read show nothing, so what became of the order is unknown then. */
function tooLate(txHash: Hex, orderId: bigint, problem: unknown): VenuefiveTradeError {
  const message = "the order waits for the keeper, and may still be executed";
  return new VenuefiveTradeError(
    "EXECUTION_TIMEOUT",
    problem === null ? message : `${message}; its logs are not read`,
    {
      ...{ outcome: problem === null ? "pending" : "unknown", txHash, details: { orderId: String(orderId) } },
      ...(problem === null ? {} : { cause: problem }),
    },
  );
}

async function look(
  { addresses }: TradingConfig,
  reader: ChainReader,
  fromBlock: bigint,
  orderId: bigint,
): Promise<{ readonly event: KeeperEvent | null; readonly problem: unknown }> {
  try {
    const emitters = [await reader.callbacks(), addresses.TradingStorage];
    const logs = await reader.node.logsFrom(fromBlock, emitters);
    return { event: keeperEvent(logs, orderId), problem: null };
  } catch (problem) {
    return { event: null, problem };
  }
}

function keeperEvent(logs: readonly Log[], orderId: bigint): KeeperEvent | null {
  for (const log of logs) {
    const { eventName: name, args } = decoded(KEEPER_EVENTS, log) ?? {};
    if ((name !== "MarketExecuted" && name !== "MarketOpenCanceled") || args?.["orderId"] !== orderId) continue;
    const price = args["price"];
    return { name, orderId, price: typeof price === "bigint" ? price : null, txHash: log.transactionHash };
  }
  return null;
}

interface Decoded {
  readonly eventName?: string;
  readonly args?: Readonly<Record<string, unknown>>;
}

/** Undefined for an event of another description. */
function decoded(abi: typeof KEEPER_EVENTS | typeof TRADING, { topics, data }: Log): Decoded | undefined {
  try {
    return decodeEventLog({ abi: abi as typeof KEEPER_EVENTS, topics, data }) as unknown as Decoded;
  } catch {
    return undefined;
  }
}

const isSame = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** The chain of the index over the endpoints of a pool. */
import { encodeFunctionData, parseAbi } from "viem";
import { TRADING_STORAGE_ABI } from "../../../schemas/venuefive/abi.js";
import type { CallOptions } from "../../../engine/ports.js";
import { readHash, toQuantity } from "../../shared/chain/rpc-wire.js";
import { cleanText } from "../../shared/chain/revert-reason.js";
import type { RpcEndpoint, RpcResult } from "../../shared/chain/rpc-endpoint.js";
import type { RpcPool } from "../../shared/chain/rpc-pool.js";
import { asFields } from "../../shared/room/wire-fields.js";
import {
  type ChainAnswer,
  type ChainHeader,
  type ChainTransaction,
  type FailedAnswer,
  failedAnswer,
  type HistoryChain,
  type HistoryEndpoint,
  type LogFilter,
  type LogsAnswer,
} from "./chain-port.js";
import { logRefusalOf } from "./log-refusals.js";
import { readAddressWord, readHeader, readLogs, readTip, readTransaction } from "./wire.js";

const CALLBACKS_CALL = encodeFunctionData({ abi: parseAbi(TRADING_STORAGE_ABI), functionName: "callbacks" });
/** Nothing is asked of the pool itself. */
const NO_CALL: CallOptions = { timeoutMs: 1, lane: "background" };
const ANSWER_TOO_LARGE = "answer too large";

export class RpcHistoryChain implements HistoryChain {
  readonly #pool: Pick<RpcPool, "each">;
  readonly #believed: (options: CallOptions) => Promise<readonly RpcEndpoint[]>;
  readonly #known = new Map<RpcEndpoint, HistoryEndpoint>();

  constructor(pool: Pick<RpcPool, "each">, believed: (options: CallOptions) => Promise<readonly RpcEndpoint[]>) {
    this.#pool = pool;
    this.#believed = believed;
  }

  /** Who answered last time comes first, so one that hangs takes no time of a look that another can answer. */
  async endpoints(): Promise<readonly HistoryEndpoint[]> {
    const own = await this.#pool.each((endpoint) => Promise.resolve(endpoint), NO_CALL);
    const inOrder = [...own.filter(({ isWell }) => isWell), ...own.filter(({ isWell }) => !isWell)];
    return inOrder.map((endpoint) => this.#of(endpoint));
  }

  async believed(options: CallOptions): Promise<readonly HistoryEndpoint[]> {
    const believed = await this.#believed(options);
    return believed.map((endpoint) => this.#of(endpoint));
  }

  #of(endpoint: RpcEndpoint): HistoryEndpoint {
    const known = this.#known.get(endpoint) ?? historyEndpoint(endpoint);
    this.#known.set(endpoint, known);
    return known;
  }
}

function historyEndpoint(endpoint: RpcEndpoint): HistoryEndpoint {
  return {
    tip: async (which, options) =>
      answerOf(await endpoint.call("eth_getBlockByNumber", [which, false], readTip, options)),
    header: async (block, options): Promise<ChainAnswer<ChainHeader | null>> =>
      answerOf(await endpoint.call("eth_getBlockByNumber", [toQuantity(block), false], readHeader, options)),
    logs: async (filter, options) =>
      logsOf(await endpoint.call("eth_getLogs", [wireFilter(filter)], readLogs, options)),
    transaction: async (hash, options): Promise<ChainAnswer<ChainTransaction | null>> =>
      answerOf(
        await endpoint.call("eth_getTransactionReceipt", [hash], (value) => readTransaction(value, hash), options),
      ),
    knows: async (hash, options) =>
      answerOf(await endpoint.call("eth_getTransactionByHash", [hash], (value) => isKnown(value, hash), options)),
    callbacks: async (storage, options) =>
      answerOf(
        await endpoint.call("eth_call", [{ to: storage, data: CALLBACKS_CALL }, "latest"], readAddressWord, options),
      ),
  };
}

function wireFilter({
  fromBlock,
  toBlock,
  blockHash,
  addresses,
  topics,
}: LogFilter): Readonly<Record<string, unknown>> {
  const blocks =
    blockHash === null ? { fromBlock: toQuantity(fromBlock), toBlock: toQuantity(toBlock) } : { blockHash };
  return { ...blocks, address: addresses, topics: [topics] };
}

function isKnown(value: unknown, hash: string): boolean {
  if (value === null) return false;
  return readHash(asFields(value, "transaction")["hash"], "hash") === hash;
}

function logsOf(result: RpcResult<Extract<LogsAnswer, { kind: "value" }>["value"]>): LogsAnswer {
  if (result.kind === "error" && logRefusalOf(result.error) === "tooLarge") return { kind: "tooLarge" };
  // The bound of our own client.
  if (result.kind === "failed" && result.failure.message === ANSWER_TOO_LARGE) return { kind: "tooLarge" };
  return answerOf(result);
}

function answerOf<T>(result: RpcResult<T>): ChainAnswer<T> {
  if (result.kind === "value") return result;
  if (result.kind === "failed") {
    const { code, message, retryAfterMs } = result.failure;
    return failedAnswer(code, message, retryAfterMs);
  }
  return refused(result.error);
}

function refused(error: Extract<RpcResult<never>, { kind: "error" }>["error"]): FailedAnswer {
  const text = cleanText(error.message);
  const refusal = logRefusalOf(error);
  if (refusal === "rateLimited") return failedAnswer("RATE_LIMITED", text);
  if (refusal === "pruned") return failedAnswer("PRUNED", text);
  return refusal === "lagging" ? failedAnswer("LAGGING", text) : failedAnswer("VENUE_ERROR", text);
}

/**
 * JSON-RPC of an EVM node as it is on the wire, read strictly: quantities as hex without leading zeros, hashes and
 * addresses of their exact length, results that belong to what was asked. Everything else is a WireFault, and so a failure
 * of the endpoint that said it.
 */
import { hexToBytes } from "@noble/hashes/utils";
import type { ChainLog } from "../../../engine/chain.js";
import { asFields, asList, type Decoded, decodeJson, type Fields, isFields, WireFault } from "../room/wire-fields.js";

const QUANTITY = /^0x(?:0|[1-9a-fA-F][0-9a-fA-F]{0,63})$/;
const HASH = /^0x[0-9a-fA-F]{64}$/;
const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const DATA = /^0x(?:[0-9a-fA-F]{2})*$/;
/** Of a LOG4. */
const TOPICS_MAX = 4;

/** What an endpoint says instead of a result; its text is not cleaned. */
export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data: unknown;
}

export type RpcAnswer = { readonly result: unknown } | { readonly error: RpcError };

/** A body that is not the answer to the call with this id is a problem. */
export function decodeAnswer(body: string, id: number): Decoded<RpcAnswer> {
  return decodeJson(body, (value) => readAnswer(value, id));
}

function readAnswer(value: unknown, id: unknown): RpcAnswer {
  const answer = asFields(value, "answer");
  if (answer["jsonrpc"] !== "2.0") throw new WireFault("jsonrpc", "is not 2.0");
  if (answer["id"] !== id) throw new WireFault("id", "is of another call");
  const { error, result } = answer;
  if (error === undefined || error === null) {
    if (result === undefined) throw new WireFault("result", "is missing");
    return { result };
  }
  if (result !== undefined && result !== null) throw new WireFault("answer", "has a result and an error");
  return { error: readError(error) };
}

function readError(value: unknown): RpcError {
  const { code, message, data } = asFields(value, "error");
  if (typeof code !== "number" || !Number.isSafeInteger(code)) throw new WireFault("code", "is not an integer");
  if (typeof message !== "string") throw new WireFault("message", "is not text");
  return { code, message, data };
}

/** Results in the order of the calls, or the first refusal. */
export type RpcAnswers = { readonly results: readonly unknown[] } | { readonly error: RpcError };

/**
 * A body that is not the answers to all calls of a batch, in any order, is a problem. A refusal of the whole is an answer
 * by itself.
 */
export function decodeAnswers(body: string, firstId: number, count: number): Decoded<RpcAnswers> {
  const read = (value: unknown): RpcAnswers => {
    if (!Array.isArray(value)) {
      const { error } = asFields(value, "answers");
      return { error: readError(error) };
    }
    if (value.length !== count) throw new WireFault("answers", "are not as many as the calls");
    const answers = new Map<unknown, RpcAnswer>();
    for (const one of value) {
      const { id } = asFields(one, "answer");
      answers.set(id, readAnswer(one, id));
    }
    const results: unknown[] = [];
    for (let id = firstId; id < firstId + count; id++) {
      const answer = answers.get(id);
      if (answer === undefined) throw new WireFault("id", "of a call is missing");
      if ("error" in answer) return answer;
      results.push(answer.result);
    }
    return { results };
  };
  return decodeJson(body, read, parseJson);
}

/** Ids are ours and amounts are text, so no number is too long; long hex would make the exact reading slow. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

export function readQuantity(value: unknown, what: string): bigint {
  if (typeof value !== "string" || !QUANTITY.test(value)) throw new WireFault(what, "is not a quantity");
  return BigInt(value);
}

/** Of a height, a count, a nonce. */
export function readCount(value: unknown, what: string): number {
  const count = readQuantity(value, what);
  if (count > BigInt(Number.MAX_SAFE_INTEGER)) throw new WireFault(what, "is out of range");
  return Number(count);
}

/** Lower case, as all of these. */
export function readHash(value: unknown, what: string): string {
  if (typeof value !== "string" || !HASH.test(value)) throw new WireFault(what, "is not a hash");
  return value.toLowerCase();
}

function readAddress(value: unknown, what: string): string {
  if (typeof value !== "string" || !ADDRESS.test(value)) throw new WireFault(what, "is not an address");
  return value.toLowerCase();
}

export function readData(value: unknown, what: string): Uint8Array {
  if (typeof value !== "string" || !DATA.test(value)) throw new WireFault(what, "is not hex data");
  return hexToBytes(value.slice(2));
}

export function toQuantity(value: bigint | number): string {
  return `0x${value.toString(16)}`;
}

export interface WireBlock {
  readonly number: number;
  readonly hash: string;
  /** Null on a chain without EIP-1559. */
  readonly baseFeePerGas: bigint | null;
}

/** Unix epoch, ms. Null: it has no such block. */
export function readBlockTime(value: unknown): number | null {
  if (value === null) return null;
  return readCount(asFields(value, "block")["timestamp"], "timestamp") * 1_000;
}

/** Null: it has no such block. */
export function readBlock(value: unknown): WireBlock | null {
  if (value === null) return null;
  const block = asFields(value, "block");
  const { baseFeePerGas } = block;
  return {
    number: readCount(block["number"], "number"),
    hash: readHash(block["hash"], "hash"),
    baseFeePerGas:
      baseFeePerGas === undefined || baseFeePerGas === null ? null : readQuantity(baseFeePerGas, "baseFeePerGas"),
  };
}

export interface WireReceipt {
  readonly hash: string;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly succeeded: boolean;
  /** Wei, with the part that some chains charge for their own chain's data. */
  readonly gasCost: bigint;
  readonly logs: readonly ChainLog[];
}

/** Null: the transaction is in no block that it knows. A receipt of another transaction or sender is a fault. */
export function readReceipt(value: unknown, hash: string, from: string): WireReceipt | null {
  if (value === null) return null;
  const receipt = asFields(value, "receipt");
  const blockHash = readHash(receipt["blockHash"], "blockHash");
  if (readHash(receipt["transactionHash"], "transactionHash") !== hash)
    throw new WireFault("transactionHash", "is of another transaction");
  if (readAddress(receipt["from"], "from") !== from) throw new WireFault("from", "is another sender");
  const { status, l1Fee } = receipt;
  if (status !== "0x0" && status !== "0x1") throw new WireFault("status", "is neither 0 nor 1");
  const gas =
    readQuantity(receipt["gasUsed"], "gasUsed") * readQuantity(receipt["effectiveGasPrice"], "effectiveGasPrice");
  return {
    hash,
    blockNumber: readCount(receipt["blockNumber"], "blockNumber"),
    blockHash,
    succeeded: status === "0x1",
    gasCost: gas + (l1Fee === undefined || l1Fee === null ? 0n : readQuantity(l1Fee, "l1Fee")),
    logs: asList(receipt["logs"], "logs").map((log) => readLog(asFields(log, "log"), hash, blockHash)),
  };
}

function readLog(log: Fields, hash: string, blockHash: string): ChainLog {
  if (
    readHash(log["transactionHash"], "transactionHash") !== hash ||
    readHash(log["blockHash"], "blockHash") !== blockHash
  )
    throw new WireFault("log", "is of another receipt");
  const topics = asList(log["topics"], "topics").map((topic) => readHash(topic, "topic"));
  if (topics.length > TOPICS_MAX) throw new WireFault("topics", "are too many");
  return { address: readAddress(log["address"], "address"), topics, data: readData(log["data"], "data") };
}

export interface WireLog extends ChainLog {
  /** Of its transaction. */
  readonly hash: string;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly logIndex: number;
}

/** A log of another contract, event or height than was asked for is a fault, as is one that a reorg took away. */
export function readLogs(
  value: unknown,
  of: {
    readonly contract: string;
    readonly topics: readonly (string | null)[];
    readonly fromHeight: number;
    readonly toHeight: number;
  },
): readonly WireLog[] {
  return asList(value, "logs").map((item) => {
    const log = asFields(item, "log");
    const [hash, blockHash] = [
      readHash(log["transactionHash"], "transactionHash"),
      readHash(log["blockHash"], "blockHash"),
    ];
    const one = readLog(log, hash, blockHash);
    const blockNumber = readCount(log["blockNumber"], "blockNumber");
    const isAsked =
      one.address === of.contract && of.topics.every((topic, at) => topic === null || topic === one.topics[at]);
    if (!isAsked || blockNumber < of.fromHeight || blockNumber > of.toHeight || log["removed"] === true)
      throw new WireFault("log", "is none that was asked for");
    return { ...one, hash, blockNumber, blockHash, logIndex: readCount(log["logIndex"], "logIndex") };
  });
}

/** Whether it knows a transaction, and has it in a block. A transaction of another hash is a fault. */
export function readKnown(value: unknown, hash: string): "unknown" | "waiting" | "inBlock" {
  if (value === null) return "unknown";
  const { hash: its, blockHash } = asFields(value, "transaction");
  if (readHash(its, "hash") !== hash) throw new WireFault("hash", "is of another transaction");
  if (blockHash === null || blockHash === undefined) return "waiting";
  readHash(blockHash, "blockHash");
  return "inBlock";
}

/** Bytes that a refused call carries; clients put them in different places. Null where there are none. */
export function errorData(error: RpcError): Uint8Array | null {
  const { data } = error;
  const text = isFields(data) ? data["data"] : data;
  const hex = typeof text === "string" ? text.replace(/^Reverted /, "") : "";
  return DATA.test(hex) && hex.length > "0x".length ? hexToBytes(hex.slice(2)) : null;
}

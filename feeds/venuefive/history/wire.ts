/** Headers, logs and receipts of a node, read strictly: what is not as it must be is a WireFault. */
import { asFields, asList, WireFault } from "../../shared/room/wire-fields.js";
import { readCount, readHash } from "../../shared/chain/rpc-wire.js";
import type { ChainEventLog, ChainHeader, ChainTransaction } from "./chain-port.js";

const ADDRESS = /^0x[0-9a-fA-F]{40}$/;
const DATA = /^0x(?:[0-9a-fA-F]{2})*$/;
const WORD_ADDRESS = /^0x0{24}[0-9a-fA-F]{40}$/;
/** Of a LOG4. */
const TOPICS_MAX = 4;

/** Null: it has no such block. */
export function readHeader(value: unknown): ChainHeader | null {
  if (value === null) return null;
  const block = asFields(value, "block");
  return {
    number: readCount(block["number"], "number"),
    hash: readHash(block["hash"], "hash"),
    parentHash: readHash(block["parentHash"], "parentHash"),
    timeMs: readCount(block["timestamp"], "timestamp") * 1_000,
  };
}

export function readTip(value: unknown): ChainHeader {
  const header = readHeader(value);
  if (header === null) throw new WireFault("block", "is none");
  return header;
}

export function readLogs(value: unknown): readonly ChainEventLog[] {
  return asList(value, "logs").map(readLog);
}

function readLog(value: unknown): ChainEventLog {
  const log = asFields(value, "log");
  const topics = asList(log["topics"], "topics").map((topic) => readHash(topic, "topic"));
  if (topics.length > TOPICS_MAX) throw new WireFault("topics", "are too many");
  const { removed } = log;
  if (removed !== undefined && typeof removed !== "boolean")
    throw new WireFault("removed", "is neither true nor false");
  return {
    address: readAddress(log["address"], "address"),
    topics,
    data: readHexData(log["data"]),
    block: readCount(log["blockNumber"], "blockNumber"),
    blockHash: readHash(log["blockHash"], "blockHash"),
    logIndex: readCount(log["logIndex"], "logIndex"),
    txHash: readHash(log["transactionHash"], "transactionHash"),
    isRemoved: removed === true,
  };
}

/** Null: the transaction is in no block that it knows. */
export function readTransaction(value: unknown, hash: string): ChainTransaction | null {
  if (value === null) return null;
  const receipt = asFields(value, "receipt");
  if (readHash(receipt["transactionHash"], "transactionHash") !== hash)
    throw new WireFault("transactionHash", "is of another transaction");
  const { status } = receipt;
  if (status !== "0x0" && status !== "0x1") throw new WireFault("status", "is neither 0 nor 1");
  const block = readCount(receipt["blockNumber"], "blockNumber");
  const blockHash = readHash(receipt["blockHash"], "blockHash");
  const logs = readLogs(receipt["logs"]);
  if (logs.some((log) => log.txHash !== hash || log.blockHash !== blockHash || log.block !== block))
    throw new WireFault("log", "is of another receipt");
  return { block, blockHash, hasSucceeded: status === "0x1", logs };
}

/** What a call returns that returns one address. */
export function readAddressWord(value: unknown): string {
  if (typeof value !== "string" || !WORD_ADDRESS.test(value)) throw new WireFault("result", "is no address");
  return `0x${value.slice(-40).toLowerCase()}`;
}

function readAddress(value: unknown, what: string): string {
  if (typeof value !== "string" || !ADDRESS.test(value)) throw new WireFault(what, "is not an address");
  return value.toLowerCase();
}

function readHexData(value: unknown): string {
  if (typeof value !== "string" || !DATA.test(value)) throw new WireFault("data", "is not hex data");
  return value.toLowerCase();
}

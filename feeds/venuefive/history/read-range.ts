/**
 * The events of some blocks, read at one endpoint; the first of them must follow what is kept.
 *
 * Far below the head they are read as a range: the endpoint must have its last block before and after, under the same hash.
 * An endpoint may be several servers, though, and one that lags gives no events of a block that another one has just shown.
 * So what is near the head is read block by block, each by its hash, which a server without that block cannot answer. The
 * header of every block that has events is read in both cases: its time is theirs, and its hash must be theirs.
 */
import type { CallOptions } from "../../../engine/ports.js";
import { decodeWith } from "../../shared/room/wire-fields.js";
import {
  type ChainAnswer,
  type ChainEventLog,
  type ChainHeader,
  type FailedAnswer,
  failedAnswer,
  type HistoryEndpoint,
  type LogFilter,
  type LogsAnswer,
} from "./chain-port.js";
import { EVENT_TOPICS, type LogDecoder } from "./decode-logs.js";
import type { VenuefiveEvent } from "./event.js";

interface BlockRange {
  readonly from: number;
  readonly to: number;
  /** Of the block before `from`; null: it is not known. */
  readonly parentHash: string | null;
}

interface RangeEvents {
  readonly events: readonly VenuefiveEvent[];
  readonly first: ChainHeader;
  readonly last: ChainHeader;
}

type RangeAnswer = ChainAnswer<RangeEvents> | { readonly kind: "tooLarge" };

/** More are read as a shorter range: that many are in memory at once. */
const LOGS_MAX = 4_000;
const CALLS_AT_ONCE = 8;

type Headers = Map<number, ChainHeader>;

export async function readRange(
  endpoint: HistoryEndpoint,
  decoder: LogDecoder,
  { from, to, parentHash }: BlockRange,
  options: CallOptions,
): Promise<RangeAnswer> {
  const headers: Headers = new Map();
  const failure = await readHeaders(endpoint, [to, from], headers, options);
  if (failure !== null) return failure;
  const [first, last] = [headers.get(from), headers.get(to)];
  if (first === undefined || last === undefined) return failedAnswer("BAD_RESPONSE", "no header");
  if (parentHash !== null && first.parentHash !== parentHash) return forkedAt(from);
  const logs = await logsOf(endpoint, decoder, { fromBlock: from, toBlock: to, blockHash: null }, options);
  if (logs.kind !== "value") return logs;
  const blocks = logs.value.map(({ block }) => block);
  const missing = await readHeaders(endpoint, blocks, headers, options);
  if (missing !== null) return missing;
  const again = await headerOf(endpoint, to, options);
  if (again.kind !== "value") return again;
  if (again.value.hash !== last.hash) return failedAnswer("INCONSISTENT", "its branch changed meanwhile");
  return eventsOf(decoder, logs.value, headers, { first, last });
}

/** As above, each block by its hash. */
export async function readBlocks(
  endpoint: HistoryEndpoint,
  decoder: LogDecoder,
  { from, to, parentHash }: BlockRange,
  options: CallOptions,
): Promise<RangeAnswer> {
  const numbers = Array.from({ length: to - from + 1 }, (_, index) => from + index);
  const headers: Headers = new Map();
  const failure = await readHeaders(endpoint, numbers, headers, options);
  if (failure !== null) return failure;
  const blocks = numbers.flatMap((number) => headers.get(number) ?? []);
  let parent = parentHash;
  for (const header of blocks) {
    if (parent !== null && header.parentHash !== parent)
      return header.number === from ? forkedAt(from) : failedAnswer("INCONSISTENT", "its branch changed meanwhile");
    parent = header.hash;
  }
  const [first, last] = [blocks[0], blocks.at(-1)];
  if (first === undefined || last === undefined) return failedAnswer("BAD_RESPONSE", "no header");
  const logs: ChainEventLog[] = [];
  const unread = await eachOf(blocks, async ({ number, hash }) => {
    const answer = await logsOf(endpoint, decoder, { fromBlock: number, toBlock: number, blockHash: hash }, options);
    if (answer.kind === "tooLarge") return failedAnswer("BAD_RESPONSE", "it gives the events of no single block");
    if (answer.kind !== "value") return answer;
    logs.push(...answer.value);
    return null;
  });
  return unread ?? eventsOf(decoder, logs.sort(inOrder), headers, { first, last });
}

function forkedAt(block: number): FailedAnswer {
  return failedAnswer("FORKED", `block ${block} follows another block`);
}

function eventsOf(
  decoder: LogDecoder,
  logs: readonly ChainEventLog[],
  headers: Headers,
  ends: Pick<RangeEvents, "first" | "last">,
): ChainAnswer<RangeEvents> {
  if (logs.some(({ block, blockHash }) => headers.get(block)?.hash !== blockHash))
    return failedAnswer("INCONSISTENT", "a log is of another block than the one of its height");
  const decoded = decodeWith(null, () => logs.map((log) => decoder.decode(log, headers.get(log.block)?.timeMs ?? 0)));
  if (!decoded.ok) return failedAnswer("BAD_RESPONSE", decoded.problem);
  return { kind: "value", value: { events: decoded.value, ...ends } };
}

/** A block that it does not have is a failure. */
export async function headerOf(
  endpoint: HistoryEndpoint,
  block: number,
  options: CallOptions,
): Promise<ChainAnswer<ChainHeader>> {
  const answer = await endpoint.header(block, options);
  if (answer.kind !== "value") return answer;
  if (answer.value === null) return failedAnswer("LAGGING", `it does not have block ${block}`);
  if (answer.value.number !== block) return failedAnswer("BAD_RESPONSE", "a header is of another block");
  return { kind: "value", value: answer.value };
}

/** Null: `headers` has them. The order of the calls is that of `blocks`. */
function readHeaders(
  endpoint: HistoryEndpoint,
  blocks: readonly number[],
  headers: Headers,
  options: CallOptions,
): Promise<FailedAnswer | null> {
  const missing = [...new Set(blocks)].filter((block) => !headers.has(block));
  return eachOf(missing, async (block) => {
    const header = await headerOf(endpoint, block, options);
    if (header.kind !== "value") return header;
    headers.set(block, header.value);
    return null;
  });
}

/** Some at a time, until one fails. */
async function eachOf<T>(
  items: readonly T[],
  ask: (item: T) => Promise<FailedAnswer | null>,
): Promise<FailedAnswer | null> {
  const left = items.toReversed();
  let failure: FailedAnswer | null = null;
  const askNext = async (): Promise<void> => {
    for (let item = left.pop(); item !== undefined && failure === null; item = left.pop()) {
      const failed = await ask(item);
      failure ??= failed;
    }
  };
  await Promise.all(Array.from({ length: Math.min(CALLS_AT_ONCE, items.length) }, askNext));
  return failure;
}

type Blocks = Pick<LogFilter, "fromBlock" | "toBlock" | "blockHash">;

/** In the order of the chain, those that are kept alone. One block that is too large is read topic by topic, and address. */
async function logsOf(
  endpoint: HistoryEndpoint,
  decoder: LogDecoder,
  blocks: Blocks,
  options: CallOptions,
): Promise<LogsAnswer> {
  const whole = { ...blocks, addresses: decoder.addresses, topics: EVENT_TOPICS };
  const isOne = blocks.fromBlock === blocks.toBlock;
  const answer = await endpoint.logs(whole, options);
  if (answer.kind === "tooLarge" && isOne) return partsOf(endpoint, decoder, whole, options);
  if (answer.kind !== "value") return answer;
  return answer.value.length > LOGS_MAX && !isOne ? { kind: "tooLarge" } : keptOf(answer.value, decoder, whole);
}

async function partsOf(
  endpoint: HistoryEndpoint,
  decoder: LogDecoder,
  whole: LogFilter,
  options: CallOptions,
): Promise<LogsAnswer> {
  const logs: ChainEventLog[] = [];
  for (const address of whole.addresses)
    for (const topic of whole.topics) {
      const part = await endpoint.logs({ ...whole, addresses: [address], topics: [topic] }, options);
      if (part.kind === "tooLarge") return failedAnswer("BAD_RESPONSE", "it gives the events of no single block");
      if (part.kind !== "value") return part;
      logs.push(...part.value);
    }
  return keptOf(logs, decoder, whole);
}

function keptOf(logs: readonly ChainEventLog[], decoder: LogDecoder, { fromBlock, toBlock }: LogFilter): LogsAnswer {
  const seen = new Set<string>();
  for (const { block, logIndex, isRemoved } of logs) {
    if (isRemoved) return failedAnswer("INCONSISTENT", "a log is of a block that was undone");
    if (block < fromBlock || block > toBlock) return failedAnswer("BAD_RESPONSE", "a log is of another range");
    const place = `${block}-${logIndex}`;
    if (seen.has(place)) return failedAnswer("BAD_RESPONSE", "a log comes twice");
    seen.add(place);
  }
  return { kind: "value", value: logs.filter((log) => decoder.isKept(log)).sort(inOrder) };
}

function inOrder(left: ChainEventLog, right: ChainEventLog): number {
  return left.block - right.block || left.logIndex - right.logIndex;
}

/**
 * The events of a range of blocks, read at one endpoint: its first block must follow what is kept, and the endpoint must
 * have the last one before and after, under the same hash. So an endpoint that does not know the range yet, or that changes
 * its branch meanwhile, gives no range that looks empty. The header of every block that has events is read: its time is
 * theirs, and its hash must be theirs.
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

export interface BlockRange {
  readonly from: number;
  readonly to: number;
  /** Of the block before `from`; null: it is not known. */
  readonly parentHash: string | null;
}

export interface RangeEvents {
  readonly events: readonly VenuefiveEvent[];
  readonly first: ChainHeader;
  readonly last: ChainHeader;
}

export type RangeAnswer = ChainAnswer<RangeEvents> | { readonly kind: "tooLarge" };

/** More are read as a shorter range: that many are in memory at once. */
const LOGS_MAX = 4_000;
const HEADERS_AT_ONCE = 8;

export async function readRange(
  endpoint: HistoryEndpoint,
  decoder: LogDecoder,
  range: BlockRange,
  options: CallOptions,
): Promise<RangeAnswer> {
  const last = await headerOf(endpoint, range.to, options);
  if (last.kind !== "value") return last;
  const first = range.from === range.to ? last : await headerOf(endpoint, range.from, options);
  if (first.kind !== "value") return first;
  if (range.parentHash !== null && first.value.parentHash !== range.parentHash)
    return failedAnswer("FORKED", `block ${range.from} follows another block`);
  const logs = await logsOf(endpoint, decoder, range, options);
  if (logs.kind !== "value") return logs;
  const known = new Map([first.value, last.value].map((header) => [header.number, header]));
  const headers = await headersOf(endpoint, logs.value, known, options);
  if (headers.kind !== "value") return headers;
  const events = decodeWith(null, () => logs.value.map((log) => eventOf(decoder, log, headers.value)));
  if (!events.ok) return failedAnswer("BAD_RESPONSE", events.problem);
  const again = await headerOf(endpoint, range.to, options);
  if (again.kind !== "value") return again;
  if (again.value.hash !== last.value.hash) return failedAnswer("INCONSISTENT", "its branch changed meanwhile");
  return { kind: "value", value: { events: events.value, first: first.value, last: last.value } };
}

function eventOf(decoder: LogDecoder, log: ChainEventLog, headers: ReadonlyMap<number, ChainHeader>): VenuefiveEvent {
  return decoder.decode(log, headers.get(log.block)?.timeMs ?? 0);
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

/** In the order of the chain, those that are kept alone. One block that is too large is read topic by topic, and address. */
async function logsOf(
  endpoint: HistoryEndpoint,
  decoder: LogDecoder,
  { from, to }: BlockRange,
  options: CallOptions,
): Promise<LogsAnswer> {
  const whole = { fromBlock: from, toBlock: to, addresses: decoder.addresses, topics: EVENT_TOPICS };
  const answer = await endpoint.logs(whole, options);
  if (answer.kind === "tooLarge" && from === to) return partsOf(endpoint, decoder, whole, options);
  if (answer.kind !== "value") return answer;
  return answer.value.length > LOGS_MAX && from < to ? { kind: "tooLarge" } : keptOf(answer.value, decoder, whole);
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
  const kept = logs.filter((log) => decoder.isKept(log));
  return {
    kind: "value",
    value: kept.sort((left, right) => left.block - right.block || left.logIndex - right.logIndex),
  };
}

/** Of the blocks of these logs, which must be theirs. `known` is added to. */
async function headersOf(
  endpoint: HistoryEndpoint,
  logs: readonly ChainEventLog[],
  known: Map<number, ChainHeader>,
  options: CallOptions,
): Promise<ChainAnswer<ReadonlyMap<number, ChainHeader>>> {
  const missing = [...new Set(logs.map(({ block }) => block))].filter((block) => !known.has(block));
  let failure: FailedAnswer | null = null;
  const readNext = async (): Promise<void> => {
    for (let block = missing.pop(); block !== undefined && failure === null; block = missing.pop()) {
      const header = await headerOf(endpoint, block, options);
      if (header.kind === "value") known.set(block, header.value);
      else failure ??= header;
    }
  };
  await Promise.all(Array.from({ length: HEADERS_AT_ONCE }, readNext));
  if (failure !== null) return failure;
  const isOther = logs.some(({ block, blockHash }) => known.get(block)?.hash !== blockHash);
  return isOther
    ? failedAnswer("INCONSISTENT", "a log is of another block than the one of its height")
    : { kind: "value", value: known };
}

/**
 * What the index of events takes of a chain: endpoints that each answer for themselves, because a range is read at one of
 * them alone. No method throws for what an endpoint or a network does.
 */
import type { CallOptions, ReadFailure } from "../../../engine/ports.js";

/** Hashes, addresses and data are `0x` and hex in lower case. */
export interface ChainHeader {
  readonly number: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timeMs: number;
}

export interface ChainEventLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: string;
  readonly block: number;
  readonly blockHash: string;
  readonly logIndex: number;
  readonly txHash: string;
  /** Its block was undone, as a node says where it keeps such logs. */
  readonly isRemoved: boolean;
}

/** `topics`: any of these as the first. */
export interface LogFilter {
  readonly fromBlock: number;
  readonly toBlock: number;
  /** Of the one block that is asked for: an endpoint that does not have it fails. Null: by number. */
  readonly blockHash: string | null;
  readonly addresses: readonly string[];
  readonly topics: readonly string[];
}

export interface ChainTransaction {
  readonly block: number;
  readonly blockHash: string;
  readonly hasSucceeded: boolean;
  readonly logs: readonly ChainEventLog[];
}

export type HistoryFailure =
  | ReadFailure
  /** The endpoint keeps no events of these blocks any more. */
  | "PRUNED"
  /** The endpoint does not have the block that it was asked for. */
  | "LAGGING"
  /** The endpoint contradicts itself: it changed its branch meanwhile, or it is several that differ. */
  | "INCONSISTENT"
  /** What it shows does not follow what is kept. */
  | "FORKED";

export interface FailedAnswer {
  readonly kind: "failed";
  readonly code: HistoryFailure;
  readonly message: string;
  readonly retryAfterMs: number | null;
}

export type ChainAnswer<T> = { readonly kind: "value"; readonly value: T } | FailedAnswer;

/** `tooLarge`: the endpoint gives no answer of this size, or for a range of this length. */
export type LogsAnswer = ChainAnswer<readonly ChainEventLog[]> | { readonly kind: "tooLarge" };

export interface HistoryEndpoint {
  /** The block that it holds for safe, or its newest. */
  tip(which: "safe" | "latest", options: CallOptions): Promise<ChainAnswer<ChainHeader>>;
  /** Null: it has no such block. */
  header(block: number, options: CallOptions): Promise<ChainAnswer<ChainHeader | null>>;
  logs(filter: LogFilter, options: CallOptions): Promise<LogsAnswer>;
  /** Null: it has no receipt of it. */
  transaction(hash: string, options: CallOptions): Promise<ChainAnswer<ChainTransaction | null>>;
  /** Whether it knows of the transaction, in a block or not. */
  knows(hash: string, options: CallOptions): Promise<ChainAnswer<boolean>>;
  /** The address that executes orders, as the storage contract names it. */
  callbacks(storage: string, options: CallOptions): Promise<ChainAnswer<string>>;
}

export interface HistoryChain {
  /** Those that are of our chain, the best to ask first. */
  endpoints(): Promise<readonly HistoryEndpoint[]>;
  /**
   * Of these those at the newest blocks that most of them have, the best first: what happened just now is read of nobody
   * else, for another's blocks may be of another branch. While nobody is, all are looked at first, within the time given.
   */
  believed(options: CallOptions): Promise<readonly HistoryEndpoint[]>;
}

export function failedAnswer(code: HistoryFailure, message: string, retryAfterMs: number | null = null): FailedAnswer {
  return { kind: "failed", code, message, retryAfterMs };
}

/** Of what is read at the head alone. */
export const NOBODY = failedAnswer("VENUE_ERROR", "no endpoint is believed of the newest blocks");

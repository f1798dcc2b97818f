/**
 * One EVM chain as the ledger of transfers knows it: what an address holds, and what became of a transaction. Behind it
 * are several endpoints; none of them is believed alone where money is counted on (feeds/shared/chain).
 *
 * Invariants of an implementation: no method throws for what an endpoint, a network or a contract does. An endpoint that
 * answers for another chain id is not asked any more. `final` is said only of what the required number of endpoints show
 * in the same block.
 */
import type { CallOptions, Read } from "./ports.js";

/** Integers in their smallest unit; addresses `0x` and 40 hex digits, lower case. */
export interface ChainCall {
  readonly from: string;
  readonly to: string;
  readonly value: bigint;
  readonly data: Uint8Array;
}

/** Of the coin that pays for gas, on every chain here. */
export const COIN_DECIMALS = 18;

/** Wei for each unit of gas. */
export interface GasPrice {
  readonly maxFeePerGas: bigint;
  readonly maxPriorityFeePerGas: bigint;
}

/** `reverted`: the chain would undo the call now. `reason` is the contract's text, cleaned for replies; "" without one. */
export type GasEstimate =
  | { readonly kind: "gas"; readonly gas: bigint }
  | { readonly kind: "reverted"; readonly reason: string };

export interface ChainLog {
  readonly address: string;
  readonly topics: readonly string[];
  readonly data: Uint8Array;
}

/** What became of a signed transaction. Hashes `0x` and 64 hex digits. */
export type TransactionStanding =
  /** Its nonce is not used: it may be mined at any time. `isKnown`: an endpoint has it in its pool. */
  | { readonly kind: "open"; readonly isKnown: boolean }
  | {
      readonly kind: "mined";
      readonly hash: string;
      readonly blockNumber: number;
      readonly blockHash: string;
      /** 1: in the latest block. */
      readonly confirmations: number;
      /** Deep enough, and shown by as many endpoints as must agree. */
      readonly isFinal: boolean;
      readonly succeeded: boolean;
      /** Wei that it paid for gas. */
      readonly gasCost: bigint;
      readonly logs: readonly ChainLog[];
    }
  /**
   * Its nonce was used by another transaction, as deep as `isFinal`: none of the hashes will ever be mined. Also said
   * where no hash is asked for: whether a nonce is used for good.
   */
  | { readonly kind: "replaced" }
  /** Its nonce is used, no endpoint shows its receipt any more, and the block that it was seen in is in the chain. */
  | { readonly kind: "unshown"; readonly confirmations: number; readonly isFinal: boolean };

/** Of one contract, from a height on. A topic that is null may be any. */
export interface LogSearch {
  readonly contract: string;
  readonly topics: readonly (string | null)[];
  readonly fromHeight: number;
}

export interface LogsFound {
  /** Each with the hash of its transaction, the lowest first. */
  readonly logs: readonly (ChainLog & { readonly hash: string })[];
  /** From where the next search goes on; what may be shown later yet is not behind it. */
  readonly nextHeight: number;
  /** Nothing is final now beyond what was read. */
  readonly isAtEnd: boolean;
}

/** `refused`: the endpoint took it not, and for a reason that holds for all (malformed, too little gas money). */
export type BroadcastOutcome =
  | { readonly kind: "taken" }
  | { readonly kind: "refused"; readonly reason: string }
  /** It may be in a pool: a time-out, an answer that says nothing, `already known`, `nonce too low`. */
  | { readonly kind: "unknown" };

/** A block that one of the transactions was seen in. */
export interface SeenIn {
  readonly blockNumber: number;
  readonly blockHash: string;
}

export interface ChainLogs {
  /** One that the chain had at that time or before it; not many blocks before, so a search from there is no long one. */
  heightAt(timeMs: number, options: CallOptions): Promise<Read<number>>;
  /** Of a part of what is asked for, of bounded length: what is final there. */
  final(search: LogSearch, options: CallOptions): Promise<Read<LogsFound>>;
}

export interface Chain {
  readonly chainId: number;
  /** Blocks that make a transaction final. */
  readonly confirmations: number;
  /** No transaction is to offer more; `gasPrice` never does. */
  readonly priceMax: GasPrice;
  readonly logs: ChainLogs;
  nativeBalance(address: string, options: CallOptions): Promise<Read<bigint>>;
  tokenBalance(token: string, address: string, options: CallOptions): Promise<Read<bigint>>;
  allowance(token: string, owner: string, spender: string, options: CallOptions): Promise<Read<bigint>>;
  /** As the token's contract says; checked once against the configuration. */
  tokenDecimals(token: string, options: CallOptions): Promise<Read<number>>;
  /** The highest that an endpoint gives, with what waits in its pool. */
  nextNonce(address: string, options: CallOptions): Promise<Read<number>>;
  gasPrice(options: CallOptions): Promise<Read<GasPrice>>;
  estimateGas(call: ChainCall, options: CallOptions): Promise<Read<GasEstimate>>;
  /** Hands it to every endpoint. */
  broadcast(raw: Uint8Array, options: CallOptions): Promise<BroadcastOutcome>;
  /** Of all transactions that were signed for this nonce of the address. */
  standing(
    of: {
      readonly from: string;
      readonly nonce: number;
      readonly hashes: readonly string[];
      readonly seenIn?: SeenIn;
    },
    options: CallOptions,
  ): Promise<Read<TransactionStanding>>;
}

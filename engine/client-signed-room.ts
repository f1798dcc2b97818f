/**
 * What the room of a venue offers the core whose orders its callers sign themselves: it is read alone, of an address,
 * without credentials, from blocks of a chain.
 *
 * No method throws for what a node or a network does: outcomes are values, and what could not be read is a failure, never
 * an empty list.
 */
import type { CallOptions, ReadFailure } from "./ports.js";

export type ClientSignedVenue = "venuefive";

export type ChainReadFailure =
  | ReadFailure
  /** Markets of the chain are not those that their indexes mean here: nothing is shown under a wrong symbol. */
  | "PAIRS_DIFFER"
  /** The node answers for another chain. */
  | "WRONG_CHAIN"
  /** What was asked for is of before the first block that is known here. */
  | "BEFORE_INDEX";

export type ChainRead<T> =
  | {
      readonly ok: true;
      readonly value: T;
      /** When that block was seen first, wall ms. */
      readonly asOfMs: number;
      readonly block: number;
    }
  | {
      readonly ok: false;
      readonly code: ChainReadFailure;
      readonly message: string;
      readonly retryAfterMs: number | null;
    };

export type ClientSignedDirection = "LONG" | "SHORT";

/** Amounts and prices are decimal text: USD, USDC, base units. */
export interface ClientSignedPosition {
  readonly pairIndex: number;
  /** The slot among the trader's positions of that pair; used again after a close. */
  readonly index: number;
  readonly symbol: string;
  readonly direction: ClientSignedDirection;
  readonly size: string;
  readonly entryPrice: string;
  /** Null: none. */
  readonly liquidationPrice: string | null;
  /** The rollover fee that has come up, above or equal to zero. */
  readonly rolloverFee: string;
  readonly leverage: string;
  readonly collateral: string;
  /** Null: none. */
  readonly takeProfit: string | null;
  readonly stopLoss: string | null;
  readonly openedAtMs: number;
  readonly isZeroFee: boolean;
  readonly isBeingClosed: boolean;
}

/** Names one position: a slot is used again after a close. */
export type PositionSlot = Pick<ClientSignedPosition, "pairIndex" | "index" | "openedAtMs">;

/** Positions that were there before `block`, and are not in it. */
export interface GonePositions {
  readonly gone: readonly PositionSlot[];
  readonly block: number;
}

export type LimitOrderType = "LIMIT" | "STOP_LIMIT";
export type LimitOrderStatus = "OPEN" | "FILLED" | "CANCELED" | "EXPIRED";

export interface ClientSignedOrder {
  /** `pairIndex:index:block`, the block that it was placed in, or of the first event of it that is known. */
  readonly orderId: string;
  readonly symbol: string;
  /** This and what follows is null where neither the chain's state nor a known event has it: an open order has it all. */
  readonly direction: ClientSignedDirection | null;
  readonly orderType: LimitOrderType | null;
  readonly price: string | null;
  readonly size: string | null;
  readonly collateral: string | null;
  readonly leverage: string | null;
  /** Null: none, or not known: the event of a placing does not have it. */
  readonly takeProfit: string | null;
  readonly stopLoss: string | null;
  readonly slippagePercent: string | null;
  readonly liquidationPrice: string | null;
  readonly status: LimitOrderStatus;
  /** Of the block that it was placed in, or of the first event that is known; of its last change where it has ended. */
  readonly timestampMs: number;
  /** Of its last change. Null: only the chain's state is known. */
  readonly txHash: string | null;
}

/** A market order by its transaction: queued, then executed or given up by the venue's keeper. */
export interface ClientSignedMarketOrder {
  readonly txHash: string;
  /** The venue's number; null where the transaction queued none. */
  readonly venueOrderId: string | null;
  readonly symbol: string;
  readonly direction: ClientSignedDirection;
  readonly isOpen: boolean;
  readonly isZeroFee: boolean;
  readonly collateral: string;
  readonly leverage: string;
  readonly status: "PENDING" | "FILLED" | "CANCELED";
  /** Null until it is executed. */
  readonly price: string | null;
  /** What was opened, or the part of the position that was closed, at the price of its opening; null until it is executed. */
  readonly size: string | null;
  readonly timestampMs: number;
  readonly walletAddress: string;
}

export type ClientSignedOrderFound =
  | { readonly kind: "limit"; readonly order: ClientSignedOrder; readonly walletAddress: string }
  | { readonly kind: "market"; readonly order: ClientSignedMarketOrder }
  /** PENDING: a node knows the transaction, no block has it. NO_ORDER: it is in a block, and neither made nor changed an order. */
  | { readonly kind: "transaction"; readonly txHash: string; readonly status: "PENDING" | "REVERTED" | "NO_ORDER" };

export interface ClosedTrade {
  readonly symbol: string;
  readonly direction: ClientSignedDirection;
  readonly entryPrice: string;
  readonly exitPrice: string;
  /** The part of it that was closed. */
  readonly collateral: string;
  readonly size: string;
  readonly leverage: string;
  /** What came back less the collateral. */
  readonly realizedPnl: string;
  /** Null where the source does not have them. */
  readonly fees: string | null;
  readonly usdcReceived: string;
  readonly isZeroFee: boolean;
  readonly isLiquidation: boolean;
  /** Null where the opening is of before what is known. */
  readonly openedAtMs: number | null;
  readonly closedAtMs: number;
  /** Null where the source does not have it: what is older than the index. */
  readonly txHash: string | null;
}

export interface ClientSignedBalances {
  readonly collateral: { readonly token: string; readonly amount: string; readonly allowance: string };
  /** The chain's own coin. */
  readonly native: { readonly symbol: string; readonly amount: string };
}

export interface ChainHistoryQuery {
  /** 1 to 1 000. */
  readonly limit: number;
  /** `nextCursor` of the page before; null for the first. */
  readonly cursor: string | null;
  /** Null: all of them. */
  readonly symbol: string | null;
}

/** Newest first. Pages neither repeat nor skip a row that the first one knew of, unless its block vanished. */
export interface ChainHistoryPage<T> {
  readonly rows: readonly T[];
  readonly nextCursor: string | null;
  /** From where on all is known. `older`: who is asked for what is older; null: it is missing. */
  readonly since: { readonly block: number; readonly timeMs: number };
  readonly older: "history-url" | null;
  /** The last block that is in it. */
  readonly toBlock: number;
}

export interface ClientSignedStatus {
  readonly venue: ClientSignedVenue;
  /** LIVE: its newest block is known and its pairs are those that they should be. */
  readonly state: "STARTING" | "LIVE" | "STALE" | "DOWN";
  /** Null while it is LIVE. One sentence, without secrets of a URL. */
  readonly problem: string | null;
  readonly block: number | null;
  readonly blockAgeMs: number | null;
  /** Pair indexes whose symbol on the chain is another one. */
  readonly differingPairs: readonly { readonly index: number; readonly here: string; readonly chain: string }[];
  readonly index: {
    /** The last block whose events are durable; null before the first. */
    readonly cursorBlock: number | null;
    readonly sinceBlock: number | null;
    /** Blocks between the cursor and the safe head. */
    readonly behindBlocks: number | null;
    /** Events that are in it, and those that were taken out because their blocks vanished. */
    readonly eventCount: number;
    readonly retractedCount: number;
    /** Why it does not go on, or what it cannot vouch for. Null: it goes on. One sentence, without secrets of a URL. */
    readonly problem: string | null;
  };
  /** By endpoint, in the order of configuration; its host alone, never its path. */
  readonly endpoints: readonly {
    readonly host: string;
    /** `disagrees`: most of the others have another block at the same height. It answers no read then. */
    readonly state: "up" | "down" | "lagging" | "wrong-chain" | "disagrees";
    readonly block: number | null;
    readonly calls: number;
    readonly failures: number;
  }[];
}

export interface ClientSignedRoom {
  readonly venue: ClientSignedVenue;
  /** Resolves when its first look at the chain has ended, whatever it found. */
  start(): Promise<void>;
  stop(): Promise<void>;
  status(): ClientSignedStatus;
  /** Called with each new block; returns the end of it. */
  onBlock(listener: (block: number) => void): () => void;
  readPositions(address: string, options: CallOptions): Promise<ChainRead<readonly ClientSignedPosition[]>>;
  readOpenOrders(address: string, options: CallOptions): Promise<ChainRead<readonly ClientSignedOrder[]>>;
  /** Those of them that the venue itself closed. */
  readLiquidated(
    address: string,
    gone: GonePositions,
    options: CallOptions,
  ): Promise<ChainRead<readonly PositionSlot[]>>;
  readBalances(address: string, options: CallOptions): Promise<ChainRead<ClientSignedBalances>>;
  readClosedTrades(
    address: string,
    query: ChainHistoryQuery,
    options: CallOptions,
  ): Promise<ChainRead<ChainHistoryPage<ClosedTrade>>>;
  /** Limit orders of every status. */
  readOrders(
    address: string,
    query: ChainHistoryQuery,
    options: CallOptions,
  ): Promise<ChainRead<ChainHistoryPage<ClientSignedOrder>>>;
  /**
   * `orderId`: `pairIndex:index:block`, of `address`, where the block of a later change of the order will do; or a
   * transaction's hash, of anybody, where an order of `address` in it comes before those of others. Null: there is none, no node knows the transaction.
   */
  findOrder(
    orderId: string,
    address: string | null,
    options: CallOptions,
  ): Promise<ChainRead<ClientSignedOrderFound | null>>;
}

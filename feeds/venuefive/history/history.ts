/**
 * What has happened at venuefive: closed trades, limit orders of every status, what became of a market order. The index
 * behind it follows the events of all traders, because the venue's own events of executions cannot be asked for by trader,
 * and keeps them without end: some 2 kB for each. It begins at `fromBlock`, or where the chain was when it first ran.
 */
import type {
  ChainHistoryPage,
  ChainHistoryQuery,
  ChainRead,
  ClientSignedOrder,
  ClientSignedOrderFound,
  ClientSignedStatus,
  ClosedTrade,
  GonePositions,
  PositionSlot,
} from "../../../engine/client-signed-room.js";
import type { Clock } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { Random } from "../../../engine/domain/random.js";
import type { CallOptions } from "../../../engine/ports.js";
import type { StateStore } from "../../../engine/storage/state-store.js";
import type { HistoryChain } from "./chain-port.js";
import { ChainTail } from "./chain-tail.js";
import type { HistoryAddresses } from "./decode-logs.js";
import { EventBook } from "./event-book.js";
import { EventIndex } from "./event-index.js";
import { EventReader } from "./event-reader.js";
import type { DollarBased, SymbolOf } from "./fold.js";
import { liquidatedAmong } from "./liquidated.js";
import type { OlderTrades } from "./older-trades.js";
import { OrderLookup } from "./order-lookup.js";
import { HistoryPages } from "./pages.js";
import { type PlacedOrder, placedOrders, type RestingSlot } from "./placed-orders.js";
import { RowKeys } from "./row-keys.js";

export interface VenuefiveHistoryOptions {
  readonly chainId: number;
  readonly addresses: HistoryAddresses;
  readonly chain: HistoryChain;
  readonly store: StateStore;
  readonly symbolOf: SymbolOf;
  readonly isDollarBased: DollarBased;
  /** The first block of the index; null: the safe head at the first start. A lower one than before reads all again. */
  readonly fromBlock: number | null;
  /** Null: what is older than the index is missing. */
  readonly older: OlderTrades | null;
  readonly pollMs?: number;
  readonly rangeMax?: number;
  readonly nearBlocks?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class VenuefiveHistory {
  readonly #index: EventIndex;
  readonly #pages: HistoryPages;
  readonly #lookup: OrderLookup;
  readonly #reader: EventReader;
  readonly #events: Parameters<typeof liquidatedAmong>[0];

  constructor(options: VenuefiveHistoryOptions) {
    const { chainId, addresses, chain, store, symbolOf, isDollarBased, fromBlock, older } = options;
    const { pollMs, rangeMax, nearBlocks, clock, random, logger } = options;
    // Other contracts are another index: what one of them has is never shown as the other's.
    const keys = new RowKeys(`${chainId}-${addresses.Trading.toLowerCase()}`);
    const book = new EventBook(store, keys);
    const reader = new EventReader(store, keys, book);
    this.#reader = reader;
    this.#index = new EventIndex({
      ...{ chain, addresses, book, fromBlock, clock, random, logger },
      ...(pollMs === undefined ? {} : { pollMs }),
      ...(rangeMax === undefined ? {} : { rangeMax }),
      ...(nearBlocks === undefined ? {} : { nearBlocks }),
    });
    const decoder = () => this.#index.decoder();
    const seenAtMs = () => this.#index.seenAtMs;
    this.#pages = new HistoryPages({ book, reader, symbolOf, isDollarBased, older, seenAtMs });
    const tail = new ChainTail({ chain, decoder, clock });
    this.#events = { book, reader, tail, seenAtMs };
    this.#lookup = new OrderLookup({ chain, book, reader, tail, decoder, symbolOf, isDollarBased, seenAtMs, clock });
  }

  /** Resolves when the first look at the chain has ended, whatever it found. */
  start(): Promise<void> {
    return this.#index.start();
  }

  stop(): Promise<void> {
    return this.#index.stop();
  }

  status(): ClientSignedStatus["index"] {
    return this.#index.status();
  }

  readClosedTrades(
    address: string,
    query: ChainHistoryQuery,
    options: CallOptions,
  ): Promise<ChainRead<ChainHistoryPage<ClosedTrade>>> {
    return this.#pages.trades(address, query, options);
  }

  readOrders(
    address: string,
    query: ChainHistoryQuery,
    _options: CallOptions,
  ): Promise<ChainRead<ChainHistoryPage<ClientSignedOrder>>> {
    return this.#pages.orders(address, query);
  }

  placedOrders(trader: string, slots: readonly RestingSlot[]): Promise<readonly (PlacedOrder | null)[]> {
    return placedOrders(this.#reader, trader, slots);
  }

  readLiquidated(
    address: string,
    gone: GonePositions,
    options: CallOptions,
  ): Promise<ChainRead<readonly PositionSlot[]>> {
    return liquidatedAmong(this.#events, address, gone, options);
  }

  findOrder(
    orderId: string,
    address: string | null,
    options: CallOptions,
  ): Promise<ChainRead<ClientSignedOrderFound | null>> {
    return this.#lookup.find(orderId, address, options);
  }
}

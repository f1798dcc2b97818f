/** A scripted client-signed venue: rows by address, failures on request, blocks by hand. */
import type {
  ChainHistoryPage,
  ChainHistoryQuery,
  ChainRead,
  ChainReadFailure,
  ClientSignedBalances,
  ClientSignedOrder,
  ClientSignedOrderFound,
  ClientSignedPosition,
  ClientSignedRoom,
  ClientSignedStatus,
  ClosedTrade,
  GonePositions,
  PositionSlot,
} from "../../client-signed-room.js";
import type { CallOptions } from "../../ports.js";

export const FIRST_BLOCK = 100;
const BLOCK_MS = 2_000;
const BASE_MS = 1_790_000_000_000;
/** When that block was seen. */
export const blockMs = (block: number): number => BASE_MS + block * BLOCK_MS;
const TX = `0x${"ab".repeat(32)}`;

export function aChainPosition(fields: Partial<ClientSignedPosition> = {}): ClientSignedPosition {
  return {
    pairIndex: 1,
    index: 0,
    symbol: "BTC",
    direction: "LONG",
    size: "0.0153846153",
    entryPrice: "65000",
    liquidationPrice: "59475",
    rolloverFee: "0.25",
    leverage: "10",
    collateral: "100",
    takeProfit: null,
    stopLoss: null,
    openedAtMs: BASE_MS,
    isZeroFee: false,
    isBeingClosed: false,
    ...fields,
  };
}

export function aChainOrder(fields: Partial<ClientSignedOrder> = {}): ClientSignedOrder {
  return {
    orderId: "0:0:90",
    symbol: "ETH",
    direction: "SHORT",
    orderType: "LIMIT",
    price: "3500",
    size: "0.1428571428",
    collateral: "50",
    leverage: "10",
    takeProfit: "3100",
    stopLoss: null,
    slippagePercent: "0.3",
    liquidationPrice: null,
    status: "OPEN",
    timestampMs: BASE_MS,
    txHash: TX,
    ...fields,
  };
}

export function aClosedTrade(fields: Partial<ClosedTrade> = {}): ClosedTrade {
  return {
    symbol: "BTC",
    direction: "LONG",
    entryPrice: "64000",
    exitPrice: "65000",
    collateral: "100",
    size: "0.015625",
    leverage: "10",
    realizedPnl: "15.16796",
    fees: "0.45704",
    usdcReceived: "115.16796",
    isZeroFee: false,
    isLiquidation: false,
    openedAtMs: BASE_MS - 1_000,
    closedAtMs: BASE_MS,
    txHash: TX,
    ...fields,
  };
}

type Failure = Extract<ChainRead<never>, { ok: false }>;
export type ReadName = "positions" | "liquidated" | "orders" | "balances" | "trades" | "history" | "find";

export class FakeClientSignedRoom implements ClientSignedRoom {
  readonly venue = "venuefive";
  readonly calls: { readonly name: ReadName; readonly address: string | null; readonly with?: unknown }[] = [];
  /** By address in lower case. */
  readonly positions = new Map<string, readonly ClientSignedPosition[]>();
  readonly orders = new Map<string, readonly ClientSignedOrder[]>();
  readonly trades = new Map<string, readonly ClosedTrade[]>();
  readonly found = new Map<string, ClientSignedOrderFound>();
  /** Slots whose positions the venue takes. */
  readonly liquidated = new Set<number>();
  readonly failingReads = new Set<ReadName>();
  startCount = 0;
  stopCount = 0;
  block = FIRST_BLOCK;
  differingPairs: ClientSignedStatus["differingPairs"] = [];
  state: ClientSignedStatus["state"] = "LIVE";
  problem: string | null = null;
  older: ChainHistoryPage<unknown>["older"] = null;
  /** Reads wait for it. */
  gate: Promise<void> | null = null;
  #failure: Failure | null = null;
  readonly #listeners = new Set<(block: number) => void>();

  get listenerCount(): number {
    return this.#listeners.size;
  }

  fail(code: ChainReadFailure, message = "no luck", retryAfterMs: number | null = null): void {
    this.#failure = { ok: false, code, message, retryAfterMs };
  }

  mend(): void {
    this.#failure = null;
    this.differingPairs = [];
  }

  mine(): void {
    this.block++;
    for (const listener of this.#listeners) listener(this.block);
  }

  start(): Promise<void> {
    this.startCount++;
    return Promise.resolve();
  }

  stop(): Promise<void> {
    this.stopCount++;
    return Promise.resolve();
  }

  status(): ClientSignedStatus {
    return {
      venue: this.venue,
      state: this.state,
      problem: this.problem,
      block: this.block,
      blockAgeMs: 40,
      differingPairs: this.differingPairs,
      index: {
        cursorBlock: this.block - 2,
        sinceBlock: 7,
        behindBlocks: 1,
        eventCount: 12,
        retractedCount: 3,
        problem: null,
      },
      endpoints: [
        { host: "rpc-one.example", state: "up", block: this.block, calls: 20, failures: 0 },
        { host: "rpc-two.example", state: "lagging", block: this.block - 9, calls: 4, failures: 2 },
      ],
    };
  }

  onBlock(listener: (block: number) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  readPositions(address: string, _options?: CallOptions): Promise<ChainRead<readonly ClientSignedPosition[]>> {
    return this.#read("positions", address, undefined, () => this.positions.get(address.toLowerCase()) ?? []);
  }

  readLiquidated(address: string, { gone, block }: GonePositions): Promise<ChainRead<readonly PositionSlot[]>> {
    return this.#read("liquidated", address, block, () => gone.filter(({ index }) => this.liquidated.has(index)));
  }

  readOpenOrders(address: string): Promise<ChainRead<readonly ClientSignedOrder[]>> {
    return this.#read("orders", address, undefined, () =>
      (this.orders.get(address.toLowerCase()) ?? []).filter(({ status }) => status === "OPEN"),
    );
  }

  readBalances(address: string): Promise<ChainRead<ClientSignedBalances>> {
    return this.#read("balances", address, undefined, () => ({
      collateral: { token: "USDC", amount: "1250.5", allowance: "100" },
      native: { symbol: "ETH", amount: "0.0421" },
    }));
  }

  readClosedTrades(address: string, query: ChainHistoryQuery): Promise<ChainRead<ChainHistoryPage<ClosedTrade>>> {
    return this.#page("trades", address, query, this.trades.get(address.toLowerCase()) ?? []);
  }

  readOrders(address: string, query: ChainHistoryQuery): Promise<ChainRead<ChainHistoryPage<ClientSignedOrder>>> {
    return this.#page("history", address, query, this.orders.get(address.toLowerCase()) ?? []);
  }

  findOrder(orderId: string, address: string | null): Promise<ChainRead<ClientSignedOrderFound | null>> {
    return this.#read("find", address, orderId, () => this.found.get(orderId) ?? null);
  }

  #page<T extends { readonly symbol: string }>(
    name: ReadName,
    address: string,
    query: ChainHistoryQuery,
    all: readonly T[],
  ): Promise<ChainRead<ChainHistoryPage<T>>> {
    const from = query.cursor === null ? 0 : Number(query.cursor);
    if (!Number.isInteger(from)) {
      this.calls.push({ name, address, with: query });
      return Promise.resolve({ ok: false, code: "BAD_CURSOR", message: "no cursor of this room", retryAfterMs: null });
    }
    const rows = all.filter(({ symbol }) => query.symbol === null || symbol === query.symbol);
    const to = from + query.limit;
    return this.#read(name, address, query, () => ({
      rows: rows.slice(from, to),
      nextCursor: to < rows.length ? String(to) : null,
      since: { block: 7, timeMs: blockMs(7) },
      older: this.older,
      toBlock: this.block - 2,
    }));
  }

  async #read<T>(name: ReadName, address: string | null, wish: unknown, value: () => T): Promise<ChainRead<T>> {
    this.calls.push({ name, address, ...(wish === undefined ? {} : { with: wish }) });
    const { block } = this;
    if (this.gate !== null) await this.gate;
    const own = { ok: false, code: "TIMEOUT", message: "late", retryAfterMs: null } as const;
    if (this.failingReads.has(name)) return own;
    return this.#failure ?? { ok: true, value: value(), asOfMs: blockMs(block), block };
  }
}

export const PAIR_SYMBOLS: ReadonlyMap<number, string> = new Map([
  [0, "ETH"],
  [1, "BTC"],
  [2, "SOL"],
  [21, "PEPE"],
]);

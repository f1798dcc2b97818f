/**
 * Orders of the accounts under the venue's own ids. An order of this room outlives the core's: it exists before one
 * (waiting for its parent), without one (refused for margin), or across several (modified triggers). Invariant: an
 * order ends once, and its index, made of market, side and running number (fact sheet 6.5), never changes.
 */
import type { SimInstrument, SimOrder } from "../../core/model/types.js";
import type { VenueAccount } from "../records/accounts.js";
import { orderIndex } from "../wire/ids.js";
import type { VenuethreeMarket } from "../records/listing.js";
import type { OrderFields } from "../wire/transaction.js";

/** A market that trades. */
export interface TradingMarket extends VenuethreeMarket {
  readonly instrument: SimInstrument;
}

export interface VenueOrder {
  readonly account: VenueAccount;
  readonly market: TradingMarket;
  readonly index: bigint;
  /** Low 48 bits of the index, printed as the order's `nonce`. */
  readonly running: bigint;
  /** As signed, or as modified since. */
  fields: OrderFields;
  /** Hash of the transaction that made it; null for orders of the venue itself. */
  readonly txHash: string | null;
  readonly createdMs: number;
  updatedMs: number;
  /** Changes seen by clients, so that `transaction_time` grows with each. */
  changeCount: number;
  /** The newest order of the core behind it. Only waiting triggers are replaced, and those have no fills. */
  core: SimOrder | null;
  state: "waiting" | "live" | "ended";
  /** Why it ended, in the venue's words; null while it lives. */
  endStatus: string | null;
  triggeredMs: number;
  readonly parent: VenueOrder | null;
  /** The other one of a pair that cancels each other. */
  sibling: VenueOrder | null;
  readonly children: VenueOrder[];
  version: number;
  /** Entry of the request log that asked for it; -1 for orders of the venue itself. */
  readonly logIndex: number;
}

/** Open first, ended ones newest last; the oldest ended ones go. */
interface Shelf {
  readonly open: Map<bigint, VenueOrder>;
  readonly ended: VenueOrder[];
  readonly byClient: Map<number, VenueOrder>;
}

const ENDED_MAX = 20_000;
/** Running numbers of account orders lie between those of prints and those of the crowd's resting orders. */
const FIRST_RUNNING = 100_000_000_000n;
const SPAN = 1n << 48n;
/** Indexes below are client order indexes. */
export const FIRST_ORDER_INDEX = SPAN;

export interface NewOrder {
  readonly account: VenueAccount;
  readonly market: TradingMarket;
  readonly fields: OrderFields;
  readonly txHash: string | null;
  readonly parent?: VenueOrder | null;
  readonly logIndex?: number;
}

export class OrderDesk {
  readonly #shelves = new Map<number, Shelf>();
  readonly #byIndex = new Map<bigint, VenueOrder>();
  readonly #nowMs: () => number;
  readonly #onChange: (order: VenueOrder) => void;
  #running = FIRST_RUNNING;

  constructor(nowMs: () => number, onChange: (order: VenueOrder) => void) {
    this.#nowMs = nowMs;
    this.#onChange = onChange;
  }

  create(order: NewOrder): VenueOrder {
    const { account, market, fields } = order;
    const running = this.#running++;
    const isAsk = fields.isAsk === 1;
    const nowMs = this.#nowMs();
    const created: VenueOrder = {
      account,
      market,
      index: orderIndex(market.marketId, isAsk ? "SELL" : "BUY", running),
      running: isAsk ? running : SPAN - running,
      fields,
      txHash: order.txHash,
      createdMs: nowMs,
      updatedMs: nowMs,
      changeCount: 0,
      core: null,
      state: "waiting",
      endStatus: null,
      triggeredMs: 0,
      parent: order.parent ?? null,
      sibling: null,
      children: [],
      version: 0,
      logIndex: order.logIndex ?? -1,
    };
    const shelf = this.#shelf(account.index);
    shelf.open.set(created.index, created);
    this.#byIndex.set(created.index, created);
    if (fields.clientOrderIndex !== 0) shelf.byClient.set(fields.clientOrderIndex, created);
    account.totalOrderCount++;
    this.touch(created);
    return created;
  }

  /** Something about it changed that clients see. */
  touch(order: VenueOrder): void {
    order.updatedMs = this.#nowMs();
    order.changeCount++;
    this.#onChange(order);
  }

  end(order: VenueOrder, status: string): void {
    if (order.state === "ended") return;
    order.state = "ended";
    order.endStatus = status;
    const shelf = this.#shelf(order.account.index);
    shelf.open.delete(order.index);
    shelf.ended.push(order);
    if (shelf.ended.length > ENDED_MAX) this.#forget(shelf);
    this.touch(order);
  }

  byIndex(index: bigint): VenueOrder | null {
    return this.#byIndex.get(index) ?? null;
  }

  /** The newest order of this account with the client's index. */
  byClientIndex(account: VenueAccount, clientIndex: number): VenueOrder | null {
    return this.#shelf(account.index).byClient.get(clientIndex) ?? null;
  }

  /** Oldest first. */
  open(account: VenueAccount): readonly VenueOrder[] {
    return [...this.#shelf(account.index).open.values()];
  }

  openCount(account: VenueAccount, marketId?: number): { readonly active: number; readonly pending: number } {
    let active = 0;
    let pending = 0;
    for (const order of this.#shelf(account.index).open.values()) {
      if (marketId !== undefined && order.market.marketId !== marketId) continue;
      if (isPending(order)) pending++;
      else active++;
    }
    return { active, pending };
  }

  /** In the order they ended. */
  ended(account: VenueAccount): readonly VenueOrder[] {
    return this.#shelf(account.index).ended;
  }

  #forget(shelf: Shelf): void {
    for (const order of shelf.ended.splice(0, ENDED_MAX >>> 1)) {
      this.#byIndex.delete(order.index);
      const { clientOrderIndex } = order.fields;
      if (shelf.byClient.get(clientOrderIndex) === order) shelf.byClient.delete(clientOrderIndex);
    }
  }

  #shelf(accountIndex: number): Shelf {
    let shelf = this.#shelves.get(accountIndex);
    if (shelf === undefined) {
      shelf = { open: new Map(), ended: [], byClient: new Map() };
      this.#shelves.set(accountIndex, shelf);
    }
    return shelf;
  }
}

/** Waits for its parent or for its trigger. */
export function isPending(order: VenueOrder): boolean {
  return order.state === "waiting" || (order.state === "live" && order.core !== null && !order.core.triggered);
}

/** Tied to the position: a conditional order that closes whatever there is. */
export function isPositionTied(order: VenueOrder): boolean {
  return order.fields.reduceOnly === 1 && order.fields.baseAmount === 0 && order.fields.triggerPrice !== 0;
}

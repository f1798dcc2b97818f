/**
 * What happened to accounts since the last commit. The venue publishes in blocks: everything that one action or market
 * step causes is sent together. Invariant: an order appears at most once per commit, in its latest state.
 */
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimFill, SimIncome, SimOrder } from "../../core/model/types.js";

export interface Commit {
  readonly orders: ReadonlyMap<string, readonly SimOrder[]>;
  readonly fills: ReadonlyMap<string, readonly SimFill[]>;
  readonly funding: ReadonlyMap<string, readonly SimIncome[]>;
  /** Per liquidated account, the venue's event. Filled in by the account keeper during the rounds. */
  readonly liquidations: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}

/** A chain of triggers and children longer than this goes on in the next commit. */
const ROUNDS_MAX = 20;

export class Journal {
  #pending = emptyRecord();
  readonly #followers: ((changes: Commit) => void)[] = [];
  readonly #readers: ((commit: Commit) => void)[] = [];
  readonly #liquidations = new Map<string, Readonly<Record<string, unknown>>>();
  #committing = false;

  constructor(exchange: Pick<SimExchange, "addListener">) {
    exchange.addListener({
      onOrder: (order, _event, fill) => {
        add(this.#pending.orders, order.accountId, order);
        if (fill !== null) add(this.#pending.fills, order.accountId, fill);
      },
      onFunding: (income) => add(this.#pending.funding, income.accountId, income),
      onStep: () => this.commit(),
    });
  }

  /** Adds a liquidation to the running commit. */
  noteLiquidation(accountId: string, event: Readonly<Record<string, unknown>>): void {
    this.#liquidations.set(accountId, event);
  }

  /** Runs the followers until nothing more happens, then hands one commit to the readers. */
  commit(): void {
    // A follower that acts on the exchange must not start a commit of its own.
    if (this.#committing || isEmpty(this.#pending)) return;
    this.#committing = true;
    const total = emptyRecord();
    for (let round = 0; round < ROUNDS_MAX && !isEmpty(this.#pending); round++) {
      const changes = this.#pending;
      this.#pending = emptyRecord();
      const view = viewOf(changes, this.#liquidations);
      merge(total, changes);
      for (const follower of this.#followers) follower(view);
    }
    this.#committing = false;
    const view = viewOf(total, new Map(this.#liquidations));
    this.#liquidations.clear();
    for (const reader of this.#readers) reader(view);
  }

  /** Called with the changes of each round; may act on the exchange and so cause another round. */
  addFollower(follower: (changes: Commit) => void): void {
    this.#followers.push(follower);
  }

  addReader(reader: (commit: Commit) => void): void {
    this.#readers.push(reader);
  }
}

interface PendingRecord {
  readonly orders: Map<string, Set<SimOrder>>;
  readonly fills: Map<string, Set<SimFill>>;
  readonly funding: Map<string, Set<SimIncome>>;
}

function emptyRecord(): PendingRecord {
  return { orders: new Map(), fills: new Map(), funding: new Map() };
}

function isEmpty(record: PendingRecord): boolean {
  return record.orders.size === 0 && record.fills.size === 0 && record.funding.size === 0;
}

function add<T>(map: Map<string, Set<T>>, key: string, item: T): void {
  const items = map.get(key);
  if (items === undefined) map.set(key, new Set([item]));
  else items.add(item);
}

function merge(into: PendingRecord, from: PendingRecord): void {
  for (const [key, items] of from.orders) for (const item of items) add(into.orders, key, item);
  for (const [key, items] of from.fills) for (const item of items) add(into.fills, key, item);
  for (const [key, items] of from.funding) for (const item of items) add(into.funding, key, item);
}

function viewOf(record: PendingRecord, liquidations: Commit["liquidations"]): Commit {
  return {
    orders: asLists(record.orders),
    fills: asLists(record.fills),
    funding: asLists(record.funding),
    liquidations,
  };
}

function asLists<T>(map: ReadonlyMap<string, ReadonlySet<T>>): ReadonlyMap<string, readonly T[]> {
  return new Map([...map].map(([key, items]) => [key, [...items]]));
}

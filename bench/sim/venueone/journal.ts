/**
 * What happened to accounts since the last commit. The venue speaks in blocks: everything one action or market step
 * causes leaves together. Invariant: an order appears at most once per commit, in its latest state.
 */
import type { SimExchange, SimFill, SimIncome, SimOrder } from "../core/types.js";

export interface Commit {
  readonly orders: ReadonlyMap<string, readonly SimOrder[]>;
  readonly fills: ReadonlyMap<string, readonly SimFill[]>;
  readonly funding: ReadonlyMap<string, readonly SimIncome[]>;
  /** Per liquidated account, the venue's event. Filled in by the account keeper during the rounds. */
  readonly liquidations: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
}

export interface Journal {
  /** Adds a liquidation to the running commit. */
  noteLiquidation(accountId: string, event: Readonly<Record<string, unknown>>): void;
  /** Runs the followers until nothing more happens, then hands one commit to the readers. */
  commit(): void;
  /** Called with the changes of each round; may act on the exchange and so cause another round. */
  addFollower(follower: (changes: Commit) => void): void;
  addReader(reader: (commit: Commit) => void): void;
}

/** A chain of triggers and children longer than this goes on in the next commit. */
const ROUNDS_MAX = 20;

export function createJournal(exchange: SimExchange): Journal {
  let pending = emptyRecord();
  const followers: ((changes: Commit) => void)[] = [];
  const readers: ((commit: Commit) => void)[] = [];
  const liquidations = new Map<string, Readonly<Record<string, unknown>>>();
  let committing = false;

  exchange.addListener({
    onOrder(order, _event, fill) {
      add(pending.orders, order.accountId, order);
      if (fill !== null) add(pending.fills, order.accountId, fill);
    },
    onFunding(income) {
      add(pending.funding, income.accountId, income);
    },
    onStep: commit,
  });

  function commit(): void {
    // A follower that acts on the exchange must not start a commit of its own.
    if (committing || isEmpty(pending)) return;
    committing = true;
    const total = emptyRecord();
    for (let round = 0; round < ROUNDS_MAX && !isEmpty(pending); round++) {
      const changes = pending;
      pending = emptyRecord();
      const view = viewOf(changes, liquidations);
      merge(total, changes);
      for (const follower of followers) follower(view);
    }
    committing = false;
    const view = viewOf(total, new Map(liquidations));
    liquidations.clear();
    for (const reader of readers) reader(view);
  }

  return {
    noteLiquidation: (accountId, event) => liquidations.set(accountId, event),
    commit,
    addFollower: (follower) => followers.push(follower),
    addReader: (reader) => readers.push(reader),
  };
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

/**
 * Executes accepted transactions after the deliberate delay of their kind (fact sheet 11): takers wait longer than
 * makers and cancels, so that a cancel can overtake. A refusal here keeps the nonce spent and shows as `ae` (fact sheet
 * 6.4). Invariant: each accepted transaction is executed once or dies once.
 */
import type { TimerHandle } from "../../../../engine/domain/clock.js";
import type { SimExchange } from "../../core/engine/exchange.js";
import type { OrderEntry } from "../../core/engine/order-entry.js";
import type { SimRequestLog } from "../../core/server/request-log.js";
import { AccountChanges } from "./account-changes.js";
import { type Accounts, type ApiKey, releaseNonce, type VenueAccount } from "../records/accounts.js";
import { type TransactionCode, transactionText } from "../wire/errors.js";
import type { Listing } from "../records/listing.js";
import type { OrderEvents } from "./order-events.js";
import { FIRST_ORDER_INDEX, isPending, type OrderDesk, type TradingMarket, type VenueOrder } from "./orders.js";
import { codeOf, isConditional, launch, mayRest, positionLots, requestOf } from "./placement.js";
import { ATTRIBUTE, indexOf, number, type OrderFields, type Transaction, TYPE } from "../wire/transaction.js";
import { CANCEL_ALL, GROUPING } from "../wire/transaction-rules.js";
import type { StoredTransaction, Transactions } from "./transactions.js";
import type { VenuethreeQuirks } from "../records/options.js";

export interface AcceptedTransaction {
  readonly stored: StoredTransaction;
  readonly key: ApiKey;
  /** Entries of the request log, one for each order of a group. */
  readonly logIndexes: readonly number[];
}

export interface SequencerDeps {
  readonly exchange: SimExchange;
  readonly accounts: Accounts;
  readonly listing: Listing;
  readonly orders: OrderDesk;
  readonly events: OrderEvents;
  readonly transactions: Transactions;
  readonly log: SimRequestLog;
  quirks(): VenuethreeQuirks;
  onTransaction(stored: StoredTransaction): void;
  /** Leverage or margin mode of a market changed. */
  onConfig(account: VenueAccount, marketId: number): void;
}

/** Fact sheet 6.6. */
const ACTIVE_MAX = 1_500;
const ACTIVE_PER_MARKET_MAX = 1_000;
const PENDING_MAX = 500;
const PENDING_PER_MARKET_MAX = 16;
const ALL_MARKETS = 255;

export class Sequencer {
  readonly #deps: SequencerDeps;
  readonly #changes: AccountChanges;
  readonly #timers = new Set<TimerHandle>();

  constructor(deps: SequencerDeps) {
    this.#deps = deps;
    this.#changes = new AccountChanges(deps);
  }

  /** Transactions of one account that wait; the desk bounds them. */
  enqueue(accepted: AcceptedTransaction, delayMs: number): void {
    const { account } = accepted.stored;
    account.pendingTransactions++;
    const run = (): void => {
      account.pendingTransactions--;
      this.#execute(accepted);
    };
    if (delayMs <= 0) {
      run();
      return;
    }
    const timer = this.#deps.exchange.clock.setTimer(() => {
      this.#timers.delete(timer);
      run();
    }, delayMs);
    this.#timers.add(timer);
  }

  stop(): void {
    const { clock } = this.#deps.exchange;
    for (const timer of this.#timers) clock.clearTimer(timer);
    this.#timers.clear();
    for (const account of this.#deps.accounts.byIndex.values())
      if (account.cancelAllTimer !== null) clock.clearTimer(account.cancelAllTimer);
  }

  #execute({ stored, key, logIndexes }: AcceptedTransaction): void {
    const { transactions, exchange, log, events, onTransaction } = this.#deps;
    const { transaction } = stored;
    const nowMs = exchange.nowMs();
    if (transaction.expiredAtMs <= nowMs) {
      transactions.failed(stored, nowMs);
      releaseNonce(key, transaction.nonce);
      for (const index of logIndexes) log.refused(index, "expired", "the transaction expired before it was executed");
    } else {
      const code = this.#run(stored, logIndexes);
      const error = code === null ? null : { code, message: transactionText(code) };
      transactions.executed(stored, error, nowMs);
      if (error !== null) for (const index of logIndexes) log.refused(index, String(error.code), error.message);
    }
    onTransaction(stored);
    events.settle();
  }

  /** Returns null when done, else the code of the refusal. */
  #run(stored: StoredTransaction, logIndexes: readonly number[]): TransactionCode | null {
    const { transaction, account } = stored;
    const done = (code: TransactionCode | null): TransactionCode | null => {
      if (code === null) for (const index of logIndexes) this.#deps.log.executed(index, null);
      return code;
    };
    switch (transaction.type) {
      case TYPE.createOrder:
        return this.#create(stored, logIndexes);
      case TYPE.group:
        return this.#createGroup(stored, logIndexes);
      case TYPE.cancelOrder:
        return this.#cancel(account, transaction, logIndexes);
      case TYPE.modifyOrder:
        return this.#modify(account, transaction, logIndexes);
      case TYPE.cancelAll:
        return done(this.#cancelAll(account, transaction));
      case TYPE.leverage:
        return done(this.#changes.updateLeverage(account, transaction));
      case TYPE.margin:
        return done(this.#changes.updateMargin(account, transaction));
      case TYPE.changeKey:
        return done(this.#changes.changeKey(account, transaction));
      case TYPE.subAccount:
        return done(this.#changes.createSubAccount(account));
      case TYPE.withdraw:
        return done(this.#changes.withdraw(account, transaction));
      case TYPE.transfer:
        return done(this.#changes.transfer(account, transaction));
      case TYPE.approveIntegrator:
        return done(this.#changes.approveIntegrator(account, transaction));
      default:
        return 21505;
    }
  }

  /* ---------------------------------------------------------------- orders */

  #create(stored: StoredTransaction, logIndexes: readonly number[]): TransactionCode | null {
    const [fields] = stored.transaction.orders;
    if (fields === undefined) return 21743;
    const refusal = this.#refusalOf(stored.account, fields);
    if (refusal !== null) return refusal;
    const order = this.#open(stored, fields, logIndexes[0] ?? -1, null);
    if (order !== null) this.#launch(order);
    return null;
  }

  #createGroup(stored: StoredTransaction, logIndexes: readonly number[]): TransactionCode | null {
    const { orders } = stored.transaction;
    for (const fields of orders) {
      const refusal = this.#refusalOf(stored.account, fields);
      if (refusal !== null) return refusal;
    }
    const pairs = number(stored.transaction.fields.GroupingType) === GROUPING.cancels;
    const opened: VenueOrder[] = [];
    for (const [index, fields] of orders.entries()) {
      const parent = pairs ? null : (opened[0] ?? null);
      const order = this.#open(stored, fields, logIndexes[index] ?? -1, parent);
      if (order !== null) opened.push(order);
    }
    const [first, second, third] = opened;
    if (first === undefined) return null;
    if (!pairs) first.children.push(...opened.slice(1));
    const [left, right] = pairs ? [first, second] : [second, third];
    if (left !== undefined && right !== undefined) {
      left.sibling = right;
      right.sibling = left;
    }
    for (const order of pairs ? opened : [first]) if (order.state !== "ended") this.#launch(order);
    return null;
  }

  #open(
    stored: StoredTransaction,
    fields: OrderFields,
    logIndex: number,
    parent: VenueOrder | null,
  ): VenueOrder | null {
    const market = this.#market(fields.marketIndex);
    if (market === null) return null;
    const { account, hash } = stored;
    return this.#deps.orders.create({ account, market, fields, txHash: hash, parent, logIndex });
  }

  /** What the sequencer refuses without an order that shows it. */
  #refusalOf(account: VenueAccount, fields: OrderFields): TransactionCode | null {
    const { exchange, orders, quirks } = this.#deps;
    const market = this.#market(fields.marketIndex);
    if (market === null) return 21605;
    if (fields.clientOrderIndex !== 0) {
      const known = orders.byClientIndex(account, fields.clientOrderIndex);
      if (known !== null && (known.state !== "ended" || quirks().clientIndexUsedOnce)) return 21728;
    }
    if (mayRest(fields)) {
      const all = orders.openCount(account);
      const own = orders.openCount(account, market.marketId);
      if (isConditional(fields)) {
        if (all.pending >= PENDING_MAX) return 21719;
        if (own.pending >= PENDING_PER_MARKET_MAX) return 21720;
      } else {
        if (all.active >= ACTIVE_MAX) return 21717;
        if (own.active >= ACTIVE_PER_MARKET_MAX) return 21718;
      }
    }
    if (isConditional(fields) || fields.reduceOnly === 0) return null;
    const held = positionLots(exchange, account.id, market.symbol);
    if (held === 0) return 21740;
    return (fields.isAsk === 1) === held > 0 ? null : 21732;
  }

  /** Into the core; an order that the account cannot pay for shows as one that ended at once. */
  #launch(order: VenueOrder): void {
    const { exchange, log, events } = this.#deps;
    const placed = launch(exchange, order);
    if (placed.ok) {
      log.executed(order.logIndex, placed.value.orderId);
      return;
    }
    const status = placed.reason === "MARGIN" ? "canceled-margin-not-allowed" : "canceled-position-not-allowed";
    events.endWaiting(order, status);
    log.refused(order.logIndex, String(codeOf(placed.reason)), status);
  }

  #cancel(account: VenueAccount, transaction: Transaction, logIndexes: readonly number[]): TransactionCode | null {
    const found = this.#find(account, transaction);
    if (typeof found === "number") return found;
    if (found.state === "ended") return 21715;
    const { events, log } = this.#deps;
    events.cancel(found, "USER");
    for (const index of logIndexes) log.executed(index, found.core?.orderId ?? null);
    return null;
  }

  /** By client order index or order index (fact sheet 6.5); the market has to fit. */
  #find(account: VenueAccount, transaction: Transaction): VenueOrder | TransactionCode {
    const { orders } = this.#deps;
    const index = indexOf(transaction);
    const order = index < FIRST_ORDER_INDEX ? orders.byClientIndex(account, Number(index)) : orders.byIndex(index);
    if (order === null || order.market.marketId !== number(transaction.fields.MarketIndex)) return 21700;
    return order.account === account ? order : 21707;
  }

  #modify(account: VenueAccount, transaction: Transaction, logIndexes: readonly number[]): TransactionCode | null {
    const { exchange, log, orders } = this.#deps;
    const found = this.#find(account, transaction);
    if (typeof found === "number") return found;
    if (found.state === "ended" || found.core === null) return 21600;
    const version = transaction.attributes.get(ATTRIBUTE.orderVersion) ?? 0;
    // An older version than the one applied changes nothing.
    if (version !== 0 && version <= found.version) return null;
    const { fields } = transaction;
    const changed: OrderFields = {
      ...found.fields,
      baseAmount: number(fields.BaseAmount),
      price: number(fields.Price),
      triggerPrice: number(fields.TriggerPrice),
    };
    const isTrigger = isPending(found);
    if (isTrigger !== (changed.triggerPrice !== 0)) return 21729;
    if (changed.baseAmount === 0 && !(isTrigger && changed.reduceOnly === 1)) return 21701;
    const before = found.fields;
    found.fields = changed;
    const amended = isTrigger
      ? this.#replaceTrigger(found)
      : exchange.orders.amend(account.id, found.core.orderId, changed.baseAmount, changed.price);
    if (!amended.ok && amended.reason !== "NO_CHANGE") {
      found.fields = before;
      return amended.reason === "NOT_FOUND" ? 21600 : codeOf(amended.reason);
    }
    if (version !== 0) found.version = version;
    orders.touch(found);
    for (const index of logIndexes) log.executed(index, found.core.orderId);
    return null;
  }

  /** The core cannot change an order that waits for a trigger: a new core order replaces it under the same index. */
  #replaceTrigger(order: VenueOrder): ReturnType<OrderEntry["place"]> {
    const { exchange, events } = this.#deps;
    const { core, account, market, fields } = order;
    const checked = exchange.orders.check(account.id, {
      ...requestOf(exchange, account.id, market, fields, null),
      clientId: null,
    });
    if (!checked.ok) return checked;
    if (core !== null) events.replacing(order, () => exchange.orders.cancel(account.id, core.orderId, "REPLACED"));
    const placed = launch(exchange, order);
    // The check passed just before. If the core refuses all the same, the order has no core order left.
    if (!placed.ok) events.endWaiting(order, "canceled");
    return placed;
  }

  #cancelAll(account: VenueAccount, transaction: Transaction): TransactionCode | null {
    const { orders, events, exchange } = this.#deps;
    const timeInForce = number(transaction.fields.TimeInForce);
    const only = transaction.attributes.get(ATTRIBUTE.cancelAllMarket) ?? ALL_MARKETS;
    const cancelNow = (reason: string, marketId: number): void => {
      for (const order of orders.open(account))
        if (marketId === ALL_MARKETS || order.market.marketId === marketId) events.cancel(order, reason);
    };
    if (timeInForce === CANCEL_ALL.immediate) {
      cancelNow("USER", only);
      return null;
    }
    // A new time replaces the old one.
    if (account.cancelAllTimer !== null) exchange.clock.clearTimer(account.cancelAllTimer);
    account.cancelAllTimer = null;
    account.cancelAllMs = 0;
    if (timeInForce === CANCEL_ALL.abort) return null;
    account.cancelAllMs = number(transaction.fields.Time);
    account.cancelAllTimer = exchange.clock.setTimer(
      () => {
        account.cancelAllTimer = null;
        account.cancelAllMs = 0;
        cancelNow("SCHEDULED", ALL_MARKETS);
        events.settle();
      },
      Math.max(0, account.cancelAllMs - exchange.nowMs()),
    );
    return null;
  }

  #market(marketId: number): TradingMarket | null {
    const market = this.#deps.listing.byId.get(marketId);
    return market === undefined || market.instrument === null ? null : (market as TradingMarket);
  }
}

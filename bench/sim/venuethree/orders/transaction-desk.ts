/**
 * The API's checks of a transaction (fact sheet 6.4, 7, 13): fields, account and key, signature over the real hash,
 * next nonce, plausible market and price. A refusal here does not spend the nonce. What passes spends it and goes to
 * the sequencer; the answer reports no more than that.
 */
import { toBytes } from "../../../../feeds/venuethree/sign/quintic.js";
import { hashTransaction } from "../../../../feeds/venuethree/sign/tx.js";
import { verifySignature } from "../../../../feeds/venuethree/sign/schnorr.js";
import { priceText, qtyText } from "../../core/model/fixed.js";
import { RollingBudget } from "../../core/server/rolling-budget.js";
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimRequestDraft, SimRequestLog } from "../../core/server/request-log.js";
import { acceptsNonce, type Accounts, type ApiKey, type VenueAccount } from "../records/accounts.js";
import { CODE, refuseTransaction, VenuethreeRefusal } from "../wire/errors.js";
import { microseconds } from "../wire/ids.js";
import { l1Message, l1Signer } from "../wire/l1-signature.js";
import type { Listing } from "../records/listing.js";
import type { VenuethreeLimits } from "../records/options.js";
import type { TradingMarket } from "./orders.js";
import { isConditional, requestOf } from "./placement.js";
import type { Sequencer } from "./sequencer.js";
import {
  ATTRIBUTE,
  indexOf,
  number,
  type OrderFields,
  readTransaction,
  type Transaction,
  TYPE,
} from "../wire/transaction.js";
import { CANCEL_ALL, checkTransaction, ORDER_TYPE, TIME_IN_FORCE } from "../wire/transaction-rules.js";
import type { Transactions } from "./transactions.js";

export interface TransactionDeskDeps {
  readonly exchange: SimExchange;
  readonly accounts: Accounts;
  readonly listing: Listing;
  readonly transactions: Transactions;
  readonly sequencer: Sequencer;
  readonly log: SimRequestLog;
  readonly chainId: number;
  limits(): VenuethreeLimits;
}

export interface RawTransaction {
  readonly type: number;
  readonly text: string;
}

export interface Submission {
  /** In the order of the transactions. */
  readonly hashes: readonly string[];
  readonly predictedMs: number;
}

const MINUTE_MS = 60_000;
const BATCH_MAX = 50;
const ORDER_AHEAD_MIN_MS = 5 * MINUTE_MS;
const ORDER_AHEAD_MAX_MS = 30 * 86_400_000;
const CANCEL_ALL_AHEAD_MAX_MS = 15 * 86_400_000;
/** Clients compute expiries by their own clocks: accepted this far past the window. */
const AHEAD_SLACK_MS = 60_000;
/** Transactions of one account waiting for their delay. */
const WAITING_MAX = 2_000;
const ALL_MARKETS = 255;
/** Types outside the volume quota have a budget of their own (fact sheet 10). */
const ORDER_TYPES: ReadonlySet<number> = new Set([
  TYPE.createOrder,
  TYPE.cancelOrder,
  TYPE.cancelAll,
  TYPE.modifyOrder,
  TYPE.group,
]);
/** Bounds of plausible prices, in percent of the mark; chosen, the venue's own are not known. */
const ACCIDENTAL_PERCENT = 25;
const FAR_LOW_PERCENT = 1;
const FAR_HIGH_PERCENT = 1_000;
const TRIGGER_DISTANCE_PERCENT = 50;

interface Judged {
  readonly transaction: Transaction;
  readonly account: VenueAccount;
  readonly key: ApiKey;
  readonly hash: string;
}

export class TransactionDesk {
  readonly #deps: TransactionDeskDeps;
  readonly #requests = new RollingBudget(MINUTE_MS);
  readonly #others = new RollingBudget(MINUTE_MS);

  constructor(deps: TransactionDeskDeps) {
    this.#deps = deps;
  }

  /** Throws the venue's refusal and then takes nothing of the list. */
  submit(raws: readonly RawTransaction[], protectsPrice: boolean, nowMs: number): Submission {
    if (raws.length > BATCH_MAX) throw refuseTransaction(21514);
    const transactions = raws.map(({ type, text }) => readTransaction(type, text));
    for (const transaction of transactions) checkTransaction(transaction);
    const [first] = transactions;
    if (first === undefined) throw refuseTransaction(21501);
    const isOneKey = transactions.every(
      (each) => each.accountIndex === first.accountIndex && each.apiKeyIndex === first.apiKeyIndex,
    );
    if (!isOneKey) throw refuseTransaction(21121);
    const judged = transactions.map((transaction) => this.#authenticate(transaction));
    this.#spend(judged, nowMs);
    return this.#take(judged, protectsPrice);
  }

  /** The nonce to use next; a slot without a key begins at 0. */
  nextNonce(account: VenueAccount, apiKeyIndex: number): number {
    return account.keys.get(apiKeyIndex)?.nextNonce ?? 0;
  }

  #authenticate(transaction: Transaction): Judged {
    const account = this.#deps.accounts.byIndex.get(transaction.accountIndex);
    if (account === undefined) throw refuseTransaction(21100);
    const known = account.keys.get(transaction.apiKeyIndex);
    const isKeyChange = transaction.type === TYPE.changeKey;
    if (known === undefined && !isKeyChange) throw refuseTransaction(21109);
    // A new key signs for itself; the account's address confirms it with a signature of the first layer.
    const publicKey = isKeyChange ? publicKeyIn(transaction) : known?.publicKey;
    const message = hashTransaction(
      this.#deps.chainId,
      transaction.type,
      transaction.fields,
      new Map(transaction.attributes),
    );
    const { signature } = transaction;
    if (publicKey === undefined || signature === null || !verifySignature(message, signature, publicKey))
      throw refuseTransaction(21120);
    this.#checkL1(transaction, account);
    const key = known ?? {
      accountIndex: account.index,
      apiKeyIndex: transaction.apiKeyIndex,
      publicKey,
      nextNonce: 0,
      transactionUs: 0,
    };
    return { transaction, account, key, hash: Buffer.from(toBytes(message)).toString("hex") };
  }

  #checkL1(transaction: Transaction, account: VenueAccount): void {
    const message = l1Message(transaction, this.#deps.chainId);
    if (message === null) return;
    if (transaction.type === TYPE.transfer) {
      const to = this.#deps.accounts.byIndex.get(number(transaction.fields.ToAccountIndex));
      // Within one owner the account's key is enough.
      if (to?.l1Address.toLowerCase() === account.l1Address.toLowerCase()) return;
    }
    if (l1Signer(message, String(transaction.fields.L1Sig)) !== account.l1Address.toLowerCase())
      throw refuseTransaction(21504);
  }

  #spend(judged: readonly Judged[], nowMs: number): void {
    const limits = this.#deps.limits();
    const [first] = judged;
    if (first === undefined) return;
    const { l1Address, tier } = first.account;
    const max = tier === "standard" ? limits.transactionsPerMinute : limits.premiumTransactionsPerMinute;
    if (!this.#requests.trySpend(l1Address, 1, max, nowMs)) throw tooManyRequests();
    const others = judged.filter(({ transaction }) => !ORDER_TYPES.has(transaction.type)).length;
    if (others > 0 && !this.#others.trySpend(l1Address, others, limits.otherTransactionsPerMinute, nowMs))
      throw tooManyRequests();
  }

  /** From here on every instruction is in the request log: its signature was true. */
  #take(judged: readonly Judged[], protectsPrice: boolean): Submission {
    const { transactions, sequencer, log, exchange } = this.#deps;
    const nowMs = exchange.nowMs();
    const entries = judged.map((each) => this.#drafts(each).map((draft) => log.received(draft)));
    try {
      let expected = judged[0]?.key.nextNonce ?? 0;
      for (const [index, { transaction }] of judged.entries()) {
        if (!acceptsNonce(expected, transaction.nonce, transaction.attributes.get(ATTRIBUTE.skipNonce) === 1))
          throw refuseTransaction(index === 0 ? 21104 : 21105);
        expected = transaction.nonce + 1;
      }
      for (const each of judged) this.#checkNow(each, protectsPrice, nowMs);
      if ((judged[0]?.account.pendingTransactions ?? 0) + judged.length > WAITING_MAX) throw refuseTransaction(21506);
    } catch (error) {
      if (error instanceof VenuethreeRefusal)
        for (const index of entries.flat()) log.refused(index, String(error.code), error.message);
      throw error;
    }
    let predictedMs = nowMs;
    const accepted = judged.map(({ transaction, account, key, hash }, index) => {
      key.nextNonce = transaction.nonce + 1;
      const stored = transactions.accept(transaction, hash, account, nowMs);
      key.transactionUs = microseconds(nowMs, stored.sequenceIndex);
      account.transactionUs = key.transactionUs;
      const delayMs = this.#delayMs(transaction, account);
      predictedMs = Math.max(predictedMs, nowMs + delayMs);
      return { entry: { stored, key, logIndexes: entries[index] ?? [] }, delayMs };
    });
    for (const { entry, delayMs } of accepted) sequencer.enqueue(entry, delayMs);
    return { hashes: judged.map(({ hash }) => hash), predictedMs };
  }

  /* ---------------------------------------------------------------- checks against the present state */

  #checkNow({ transaction, account }: Judged, protectsPrice: boolean, nowMs: number): void {
    if (transaction.expiredAtMs <= nowMs) throw refuseTransaction(21711);
    this.#checkIntegrator(transaction, account, nowMs);
    const { fields, type } = transaction;
    for (const order of transaction.orders) this.#checkOrder(order, transaction, account, protectsPrice, nowMs);
    if (fields.MarketIndex !== undefined && transaction.orders.length === 0) this.#market(number(fields.MarketIndex));
    if (type === TYPE.cancelAll && number(fields.TimeInForce) === CANCEL_ALL.scheduled) {
      const aheadMs = number(fields.Time) - nowMs;
      if (aheadMs < ORDER_AHEAD_MIN_MS - AHEAD_SLACK_MS || aheadMs > CANCEL_ALL_AHEAD_MAX_MS + AHEAD_SLACK_MS)
        throw refuseTransaction(21714);
    }
  }

  #checkIntegrator({ attributes }: Transaction, account: VenueAccount, nowMs: number): void {
    const integrator = attributes.get(ATTRIBUTE.integrator) ?? 0;
    if (integrator === 0) return;
    const approval = account.integrators.get(integrator);
    const isCovered =
      approval !== undefined &&
      approval.expiryMs > nowMs &&
      (attributes.get(ATTRIBUTE.integratorTakerFee) ?? 0) <= approval.takerFee &&
      (attributes.get(ATTRIBUTE.integratorMakerFee) ?? 0) <= approval.makerFee;
    if (!isCovered) throw refuseTransaction(21149);
  }

  #checkOrder(
    order: OrderFields,
    transaction: Transaction,
    account: VenueAccount,
    protectsPrice: boolean,
    nowMs: number,
  ): void {
    const market = this.#market(order.marketIndex);
    if (order.type === ORDER_TYPE.twap) throw refuseTransaction(21710);
    if (order.orderExpiry !== 0) {
      const aheadMs = order.orderExpiry - nowMs;
      if (aheadMs < ORDER_AHEAD_MIN_MS - AHEAD_SLACK_MS || aheadMs > ORDER_AHEAD_MAX_MS + AHEAD_SLACK_MS)
        throw refuseTransaction(21711);
    }
    const isMaker = order.type === ORDER_TYPE.limit && order.timeInForce !== TIME_IN_FORCE.immediateOrCancel;
    if (isMaker && order.baseAmount > 0) checkMinimum(market, order);
    if (protectsPrice) this.#checkPrice(market, order);
    // Orders that will rest are refused here when the account cannot carry them; the sequencer checks takers.
    if (!isMaker || transaction.type !== TYPE.createOrder || order.reduceOnly === 1) return;
    if (this.#crosses(market, order)) return;
    const { exchange } = this.#deps;
    const request = { ...requestOf(exchange, account.id, market, order, null), clientId: null };
    const checked = exchange.orders.check(account.id, request);
    if (!checked.ok && checked.reason === "MARGIN") throw refuseTransaction(21739);
  }

  #checkPrice(market: TradingMarket, order: OrderFields): void {
    const { exchange } = this.#deps;
    if (isConditional(order)) {
      const distance = Math.abs(order.price - order.triggerPrice) * 100;
      if (distance > order.triggerPrice * TRIGGER_DISTANCE_PERCENT) throw refuseTransaction(21735);
      return;
    }
    const markTicks = exchange.market.mark(market.symbol).markE8 / 10 ** (8 - market.priceDecimals);
    const percent = (order.price / markTicks) * 100;
    if (order.isAsk === 0 ? percent > 100 + ACCIDENTAL_PERCENT : percent < 100 - ACCIDENTAL_PERCENT)
      throw refuseTransaction(21733);
    if (order.type === ORDER_TYPE.limit && (percent < FAR_LOW_PERCENT || percent > FAR_HIGH_PERCENT))
      throw refuseTransaction(21734);
  }

  #crosses(market: TradingMarket, order: OrderFields): boolean {
    const { exchange } = this.#deps;
    const far = order.isAsk === 1 ? exchange.market.bestBid(market.symbol) : exchange.market.bestAsk(market.symbol);
    if (far === null) return false;
    return order.isAsk === 1 ? order.price <= far.priceTicks : order.price >= far.priceTicks;
  }

  #market(marketId: number): TradingMarket {
    const market = this.#deps.listing.byId.get(marketId);
    if (market === undefined) throw refuseTransaction(21602);
    if (market.instrument === null) throw refuseTransaction(21605);
    return market as TradingMarket;
  }

  /** Fact sheet 11: what may take waits longest. */
  #delayMs(transaction: Transaction, account: VenueAccount): number {
    const limits = this.#deps.limits();
    const isStandard = account.tier === "standard";
    const maker = isStandard ? limits.makerDelayMs : limits.premiumMakerDelayMs;
    const taker = isStandard ? limits.takerDelayMs : limits.premiumTakerDelayMs;
    const takes = transaction.orders.some((order) => {
      if (isConditional(order)) return false;
      if (order.timeInForce === TIME_IN_FORCE.postOnly) return false;
      if (order.timeInForce === TIME_IN_FORCE.immediateOrCancel) return true;
      return this.#crosses(this.#market(order.marketIndex), order);
    });
    return takes ? taker : maker;
  }

  /* ---------------------------------------------------------------- request log */

  #drafts({ transaction, account, key }: Judged): SimRequestDraft[] {
    const { listing } = this.#deps;
    const head = {
      signer: Buffer.from(key.publicKey).toString("hex"),
      accountId: account.id,
      nonce: String(transaction.nonce),
    };
    if (transaction.orders.length > 0)
      return transaction.orders.map((order) => ({ ...head, ...draftOf(listing, order) }));
    const action = ACTIONS.get(transaction.type) ?? "other";
    const { MarketIndex } = transaction.fields;
    const only = MarketIndex ?? transaction.attributes.get(ATTRIBUTE.cancelAllMarket) ?? ALL_MARKETS;
    const market = listing.byId.get(number(only));
    const draft: SimRequestDraft = { ...head, action, symbol: market?.symbol ?? null };
    if (transaction.type !== TYPE.cancelOrder && transaction.type !== TYPE.modifyOrder) return [draft];
    const index = indexOf(transaction);
    const named = { ...draft, clientId: index < 1n << 48n ? String(index) : null };
    const instrument = market?.instrument;
    if (transaction.type === TYPE.cancelOrder || instrument === null || instrument === undefined) return [named];
    return [
      {
        ...named,
        price: priceText(instrument, number(transaction.fields.Price)),
        qty: qtyText(instrument, number(transaction.fields.BaseAmount)),
      },
    ];
  }
}

const ACTIONS: ReadonlyMap<number, string> = new Map([
  [TYPE.cancelOrder, "cancel"],
  [TYPE.cancelAll, "cancelAll"],
  [TYPE.modifyOrder, "amend"],
  [TYPE.leverage, "leverage"],
  [TYPE.margin, "margin"],
  [TYPE.changeKey, "changeKey"],
  [TYPE.subAccount, "subAccount"],
  [TYPE.withdraw, "withdraw"],
  [TYPE.transfer, "transfer"],
  [TYPE.approveIntegrator, "approveIntegrator"],
]);
const ORDER_TYPE_NAMES = ["LIMIT", "MARKET", "STOP", "STOP_LIMIT", "TAKE_PROFIT", "TAKE_PROFIT_LIMIT", "TWAP"] as const;
const TIME_IN_FORCE_NAMES = ["IOC", "GTT", "POST_ONLY"] as const;

/** What was asked, in the core's words. */
function draftOf(listing: Listing, order: OrderFields): Omit<SimRequestDraft, "signer" | "accountId"> {
  const market = listing.byId.get(order.marketIndex);
  const instrument = market?.instrument ?? null;
  return {
    action: "place",
    symbol: market?.symbol ?? null,
    clientId: order.clientOrderIndex === 0 ? null : String(order.clientOrderIndex),
    side: order.isAsk === 1 ? "SELL" : "BUY",
    type: ORDER_TYPE_NAMES[order.type] ?? null,
    timeInForce: TIME_IN_FORCE_NAMES[order.timeInForce] ?? null,
    reduceOnly: order.reduceOnly === 1,
    positionSide: "BOTH",
    price: instrument === null ? null : priceText(instrument, order.price),
    qty: instrument === null ? null : qtyText(instrument, order.baseAmount),
  };
}

/** Least amounts bind orders that may rest (fact sheet 5). */
function checkMinimum(market: TradingMarket, order: OrderFields): void {
  const { instrument } = market;
  const quote = (order.price / 10 ** instrument.priceDecimals) * (order.baseAmount / 10 ** instrument.qtyDecimals);
  const base = order.baseAmount / 10 ** instrument.qtyDecimals;
  if (base < Number(market.minBaseAmount) || quote < MIN_QUOTE) throw refuseTransaction(21706);
}

const MIN_QUOTE = 10;

function publicKeyIn(transaction: Transaction): Uint8Array {
  const bytes = Buffer.from(String(transaction.fields.PubKey), "base64");
  if (bytes.length !== 40) throw refuseTransaction(21108);
  return bytes;
}

function tooManyRequests(): VenuethreeRefusal {
  return new VenuethreeRefusal(CODE.tooManyRequests, "Too Many Requests!", 429);
}

/**
 * The account side as a whole: registered accounts, the way of a transaction from the API's door over the sequencer
 * into the core, what follows from the core's events, and the streams that publish it.
 */
import { openPosition } from "../../core/engine/starting-position.js";
import type { SimExchange } from "../../core/engine/exchange.js";
import type { SimRequestLog } from "../../core/server/request-log.js";
import { type AccountRegistration, Accounts, type AccountTier, type ApiKeyRegistration } from "../records/accounts.js";
import { AccountStreams } from "./account-streams.js";
import { AuthTokens } from "../records/auth-tokens.js";
import type { VenuethreeContext } from "../orders/context.js";
import type { Listing } from "../records/listing.js";
import type { VenuethreeAccount } from "../records/options.js";
import { OrderEvents } from "../orders/order-events.js";
import { OrderDesk } from "../orders/orders.js";
import { Sequencer } from "../orders/sequencer.js";
import { TradeBook } from "../orders/trade-sides.js";
import { TransactionDesk } from "../orders/transaction-desk.js";
import { Transactions } from "../orders/transactions.js";

export interface AccountSideDeps {
  readonly exchange: SimExchange;
  readonly listing: Listing;
  readonly log: SimRequestLog;
  readonly chainId: number;
  /** Complete once the venue is constructed. */
  context(): VenuethreeContext;
}

/** Thousandths of a basis point; a premium account without a stake (fact sheet 11). */
const PREMIUM_FEES = { makerFeeMilliBps: 400, takerFeeMilliBps: 2_800 } as const;

export class AccountSide {
  readonly streams: AccountStreams;
  readonly events: OrderEvents;
  /** What routes and streams read. */
  readonly shared: Pick<VenuethreeContext, "accounts" | "tokens" | "orders" | "prints" | "transactions" | "desk">;
  readonly #exchange: SimExchange;
  readonly #accounts = new Accounts();
  readonly #sequencer: Sequencer;

  constructor({ exchange, listing, log, chainId, context }: AccountSideDeps) {
    this.#exchange = exchange;
    const accounts = this.#accounts;
    const nowMs = (): number => exchange.nowMs();
    const streams = new AccountStreams(context);
    this.streams = streams;
    const orders = new OrderDesk(nowMs, (order) => streams.onOrder(order));
    const prints = new TradeBook();
    const transactions = new Transactions();
    this.events = new OrderEvents({ exchange, accounts, listing, orders, prints, log, listener: streams });
    this.#sequencer = new Sequencer({
      exchange,
      accounts,
      listing,
      orders,
      events: this.events,
      transactions,
      log,
      quirks: () => context().quirks,
      onTransaction: (stored) => streams.onTransaction(stored),
      onConfig: (account, marketId) => streams.onPosition(account, marketId),
    });
    const desk = new TransactionDesk({
      exchange,
      accounts,
      listing,
      transactions,
      sequencer: this.#sequencer,
      log,
      chainId,
      limits: () => context().limits,
    });
    this.shared = { accounts, tokens: new AuthTokens(accounts, nowMs), orders, prints, transactions, desk };
  }

  add(account: VenuethreeAccount): void {
    const { deposit, spotDeposit, tier } = account;
    if (this.#accounts.byIndex.has(account.accountIndex))
      throw new RangeError(`account ${account.accountIndex} exists`);
    const registered = this.#accounts.register(account, this.#exchange.nowMs());
    this.#exchange.desk.createAccount({
      accountId: registered.id,
      deposit,
      ...(spotDeposit === undefined ? {} : { spotDeposit }),
      ...(tier === "premium" ? PREMIUM_FEES : {}),
    });
    for (const { symbol, size, entryPrice } of account.positions ?? [])
      openPosition(this.#exchange, registered.id, { symbol, qty: size, entryPrice });
  }

  /** POST /_sim/accounts: the core's account is named by its index; keys and address come along. */
  register(accountId: string, body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    const account = this.#accounts.register(readRegistration(accountId, body), this.#exchange.nowMs());
    return { accountIndex: account.index, l1Address: account.l1Address, apiKeyIndexes: [...account.keys.keys()] };
  }

  stop(): void {
    this.#sequencer.stop();
  }
}

/** Without an address the account gets one of its own: its index as the last digits. */
function readRegistration(accountId: string, body: Readonly<Record<string, unknown>>): AccountRegistration {
  if (!/^(?:0|[1-9]\d{0,14})$/.test(accountId)) throw new RangeError("accountId must be an account index");
  const { l1Address, tier } = body;
  if (tier !== undefined && tier !== "standard" && tier !== "premium")
    throw new RangeError("tier must be standard or premium");
  const keys = body.apiKeys === undefined ? [] : body.apiKeys;
  if (!Array.isArray(keys)) throw new RangeError("apiKeys must be a list");
  return {
    accountIndex: Number(accountId),
    l1Address: l1Address === undefined ? `0x${accountId.padStart(40, "0")}` : String(l1Address),
    ...(tier === undefined ? {} : { tier: tier satisfies AccountTier }),
    apiKeys: keys.map(readKey),
  };
}

function readKey(value: unknown): ApiKeyRegistration {
  const { apiKeyIndex, publicKey, nonce } = (value ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof apiKeyIndex !== "number" || typeof publicKey !== "string")
    throw new RangeError("an API key has apiKeyIndex and publicKey");
  if (nonce !== undefined && !(Number.isSafeInteger(nonce) && Number(nonce) >= 0))
    throw new RangeError("nonce must be a whole number");
  return { apiKeyIndex, publicKey, ...(nonce === undefined ? {} : { nonce: Number(nonce) }) };
}

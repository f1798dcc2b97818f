/** User stream events, fact sheet 6.7: account and order updates of accounts that hold a listen key. */
import type { SimExchange } from "../../core/engine/exchange.js";
import type {
  SimAccount,
  SimAccountCause,
  SimConfigChange,
  SimFill,
  SimOrder,
  SimOrderEvent,
  SimPosition,
} from "../../core/model/types.js";
import { notionalE12 } from "../../core/model/fixed.js";
import { printAccountUpdate } from "./account-view.js";
import type { ListenKeys } from "../records/listen-keys.js";
import { printOrderEvent } from "../orders/order-view.js";
import type { Topics } from "../records/topics.js";

export class UserStreams {
  readonly #exchange: SimExchange;
  readonly #topics: Topics;
  readonly #listenKeys: ListenKeys;
  /** Wallet as last sent, to compute the change that is neither profit nor fee. */
  readonly #wallets = new Map<string, bigint>();

  constructor(exchange: SimExchange, topics: Topics, listenKeys: ListenKeys) {
    this.#exchange = exchange;
    this.#topics = topics;
    this.#listenKeys = listenKeys;
  }

  onOrder(order: SimOrder, event: SimOrderEvent, fill: SimFill | null): void {
    const name = this.#topicOf(order.accountId);
    const instrument = this.#exchange.instruments.get(order.symbol);
    if (name === null || instrument === undefined) return;
    const eventMs = this.#exchange.nowMs();
    const body = printOrderEvent(order, instrument, event, fill, this.#openNotional(order));
    if (event !== "TRIGGERED") {
      this.#send(name, order.accountId, { e: "ORDER_TRADE_UPDATE", E: eventMs, T: order.updatedMs, o: body });
      return;
    }
    // A conditional order ends as itself and comes back as the working order under the same id.
    this.#send(name, order.accountId, {
      e: "ORDER_TRADE_UPDATE",
      E: eventMs,
      T: order.updatedMs,
      o: { ...body, o: body.ot, x: "EXPIRED", X: "EXPIRED" },
    });
    this.#send(name, order.accountId, {
      e: "ORDER_TRADE_UPDATE",
      E: eventMs,
      T: order.updatedMs,
      o: { ...body, x: "NEW", X: "NEW" },
    });
  }

  onAccount(account: SimAccount, cause: SimAccountCause, positions: readonly SimPosition[]): void {
    const before = this.#wallets.get(account.accountId) ?? account.walletE12;
    this.#wallets.set(account.accountId, account.walletE12);
    const name = this.#topicOf(account.accountId);
    if (name === null) return;
    const change = cause === "ORDER" ? 0n : account.walletE12 - before;
    const body = printAccountUpdate(this.#exchange, account, cause, positions, change);
    const nowMs = this.#exchange.nowMs();
    this.#send(name, account.accountId, { e: "ACCOUNT_UPDATE", T: nowMs, E: nowMs, a: body });
  }

  onConfig(account: SimAccount, change: SimConfigChange): void {
    const name = this.#topicOf(account.accountId);
    if (name === null) return;
    const nowMs = this.#exchange.nowMs();
    if (change.kind === "leverage")
      this.#send(name, account.accountId, {
        e: "ACCOUNT_CONFIG_UPDATE",
        E: nowMs,
        T: nowMs,
        ac: { s: change.symbol, l: change.leverage },
      });
    else if (change.kind === "hedgeMode")
      this.#send(name, account.accountId, {
        e: "ACCOUNT_CONFIG_UPDATE",
        E: nowMs,
        T: nowMs,
        ai: { j: false, f: false, d: change.hedgeMode },
      });
    else {
      const sides = account.hedgeMode ? (["LONG", "SHORT"] as const) : (["BOTH"] as const);
      const positions = sides.flatMap(
        (side) => this.#exchange.accounts.position(account.accountId, change.symbol, side) ?? [],
      );
      this.#send(name, account.accountId, {
        e: "ACCOUNT_UPDATE",
        T: nowMs,
        E: nowMs,
        a: printAccountUpdate(this.#exchange, account, "MARGIN_TYPE_CHANGE", positions, 0n),
      });
    }
  }

  /** Sends the end of each key to its listeners; nothing follows on it. */
  expireKeys(all = false): readonly string[] {
    const ended = this.#listenKeys.expire(all);
    for (const key of ended) this.#send(key, "", { e: "listenKeyExpired", E: this.#exchange.nowMs() });
    return ended;
  }

  #topicOf(accountId: string): string | null {
    const key = this.#listenKeys.keyOf(accountId);
    return key !== null && this.#topics.wanted(key) ? key : null;
  }

  /** Faults match `user:<account>:<event>`. */
  #send(name: string, accountId: string, event: { readonly e: string; readonly [field: string]: unknown }): void {
    this.#topics.publish(name, "user", event, false, `user:${accountId}:${event.e}`);
  }

  /** Notional of the account's other open orders of the symbol, per side. */
  #openNotional(order: SimOrder): { bid: bigint; ask: bigint } {
    const total = { bid: 0n, ask: 0n };
    const instrument = this.#exchange.instruments.get(order.symbol);
    if (instrument === undefined) return total;
    for (const open of this.#exchange.orders.open(order.accountId, order.symbol)) {
      if (open.priceTicks === null || open.type !== "LIMIT") continue;
      const notional = notionalE12(instrument, open.priceTicks, open.qtyLots - open.filledLots);
      if (open.side === "BUY") total.bid += notional;
      else total.ask += notional;
    }
    return total;
  }
}

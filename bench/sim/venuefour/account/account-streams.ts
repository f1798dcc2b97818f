/**
 * Private channels, fact sheet section 7: order updates and fills as they happen, whole positions after both, the rest
 * on change. Channels name an account and carry no signature. Fills may come before their order's update or after.
 */
import type { Clock } from "../../../../engine/domain/clock.js";
import { TopicBoard } from "../../core/server/topic-board.js";
import type { SimAccount, SimConfigChange } from "../../core/model/types.js";
import type { SimSocket } from "../../core/server/server-types.js";
import type { JournalEvent } from "../orders/account-journal.js";
import { printAccount } from "./account-routes.js";
import type { VenuefourContext } from "../orders/context.js";
import type { Row } from "../market/market-view.js";
import { accountOrderRow, accountPositionRow } from "../orders/order-view.js";

export const ACCOUNT_CHANNELS = [
  "account_positions",
  "account_order_updates",
  "account_orders",
  "account_trades",
  "account_info",
  "account_margin",
  "account_leverage",
] as const;
export type AccountChannel = (typeof ACCOUNT_CHANNELS)[number];

export interface AccountSubscription {
  readonly channel: AccountChannel;
  readonly wallet: string;
  /** Null for an address that nobody here has: the channel stays silent. */
  readonly accountId: string | null;
}

export class AccountStreams {
  readonly board = new TopicBoard();
  readonly #context: VenuefourContext;
  readonly #clock: Clock;
  /** Accounts whose positions frame is due at the next pulse. */
  readonly #moved = new Set<string>();
  /** Newest text of channels that send changes only. Bounded by the accounts with a channel. */
  readonly #shown = new Map<string, string>();

  constructor(context: VenuefourContext, clock: Clock) {
    this.#context = context;
    this.#clock = clock;
    context.exchange.addListener({ onConfig: (account, change) => this.#onConfig(account, change) });
  }

  topicOf({ channel, wallet }: AccountSubscription): string {
    return `${channel}:${wallet}`;
  }

  /** Only snapshots of what is there; order updates and fills begin with the next one. */
  sendFirst(socket: SimSocket, subscription: AccountSubscription): void {
    const { channel, accountId } = subscription;
    const first = channel === "account_positions" || channel === "account_orders" || channel === "account_info";
    if (!first) return;
    const text = accountId === null ? emptyText(channel) : this.#snapshot(channel, accountId);
    if (text !== null) socket.push("user", `first/${this.topicOf(subscription)}`, text, false);
  }

  drop(socket: SimSocket): void {
    this.board.drop(socket);
  }

  /** Sends what has happened until now; positions follow with the pulse. */
  flush(): void {
    const { journal } = this.#context;
    const events = journal.takeEvents();
    for (const [accountId, own] of grouped(events)) this.#sendEvents(accountId, own);
    for (const accountId of journal.takeMoved()) this.#moved.add(accountId);
  }

  onPulse(): void {
    for (const accountId of this.#moved) {
      this.#publish("account_positions", accountId, () => this.#snapshot("account_positions", accountId));
      this.#sendChange("account_info", accountId);
    }
    this.#moved.clear();
  }

  #sendEvents(accountId: string, events: readonly JournalEvent[]): void {
    const { quirks, random } = this.#context;
    const trades = events.map((event) => event.trade).filter((trade) => trade !== null);
    const sendTrades = (): void => {
      if (trades.length > 0) this.#publish("account_trades", accountId, () => frame("account_trades", trades));
    };
    const isTradesFirst = quirks.lateTradesMs === 0 && random.next() < quirks.tradesFirstShare;
    if (isTradesFirst) sendTrades();
    const updates = events.map((event) => event.update);
    this.#publish("account_order_updates", accountId, () => frame("account_order_updates", updates));
    if (!isTradesFirst) {
      if (quirks.lateTradesMs > 0) this.#clock.setTimer(sendTrades, quirks.lateTradesMs);
      else sendTrades();
    }
    this.#sendChange("account_orders", accountId);
    this.#sendChange("account_info", accountId);
  }

  #sendChange(channel: AccountChannel, accountId: string): void {
    const wallet = this.#context.keys.walletOf(accountId);
    if (wallet === null) return;
    const topic = `${channel}:${wallet}`;
    if (!this.board.isWanted(topic)) {
      this.#shown.delete(topic);
      return;
    }
    const text = this.#snapshot(channel, accountId);
    if (text === null || this.#shown.get(topic) === text) return;
    this.#shown.set(topic, text);
    this.board.publish(topic, topic, text, false, "user");
  }

  #onConfig(account: SimAccount, change: SimConfigChange): void {
    const u = this.#context.keys.walletOf(account.accountId);
    const t = this.#context.exchange.nowMs();
    if (change.kind === "leverage") {
      const data = { l: String(change.leverage), s: change.symbol, t, u };
      this.#publish("account_leverage", account.accountId, () => JSON.stringify({ channel: "account_leverage", data }));
    } else if (change.kind === "marginMode") {
      const data = { i: change.mode === "isolated", s: change.symbol, t, u };
      this.#publish("account_margin", account.accountId, () => JSON.stringify({ channel: "account_margin", data }));
    }
  }

  #publish(channel: AccountChannel, accountId: string, textOf: () => string | null): void {
    const wallet = this.#context.keys.walletOf(accountId);
    const topic = `${channel}:${wallet}`;
    if (wallet === null || !this.board.isWanted(topic)) return;
    const text = textOf();
    if (text !== null) this.board.publish(topic, topic, text, false, "user");
  }

  #snapshot(channel: AccountChannel, accountId: string): string | null {
    const { exchange, journal } = this.#context;
    if (channel === "account_positions") {
      const data = [...(exchange.accounts.find(accountId)?.positions.values() ?? [])]
        .filter((position) => position.qtyLots !== 0)
        .map((position) => accountPositionRow(exchange, position, journal.birth(position)));
      return JSON.stringify({ channel, data, li: journal.li(accountId) });
    }
    if (channel === "account_orders") {
      const data = exchange.orders.open(accountId).flatMap((order) => {
        const instrument = exchange.instruments.get(order.symbol);
        return instrument === undefined ? [] : [accountOrderRow(order, instrument)];
      });
      return frame(channel, data);
    }
    if (channel !== "account_info" || exchange.accounts.find(accountId) === null) return null;
    const info = printAccount(this.#context, accountId);
    const data = {
      ae: info.account_equity,
      as: info.available_to_spend,
      aw: info.available_to_withdraw,
      b: info.balance,
      cm: info.cross_mmr,
      f: info.fee_level,
      mu: info.total_margin_used,
      oc: info.orders_count,
      pb: info.pending_balance,
      pc: info.positions_count,
      sc: info.stop_orders_count,
      t: info.updated_at,
    };
    return JSON.stringify({ channel, data });
  }
}

function frame(channel: AccountChannel, data: readonly Row[]): string {
  return JSON.stringify({ channel, data });
}

function emptyText(channel: AccountChannel): string | null {
  return channel === "account_info" ? null : frame(channel, []);
}

function grouped(events: readonly JournalEvent[]): ReadonlyMap<string, readonly JournalEvent[]> {
  const groups = new Map<string, JournalEvent[]>();
  for (const event of events) {
    const group = groups.get(event.accountId) ?? [];
    group.push(event);
    groups.set(event.accountId, group);
  }
  return groups;
}

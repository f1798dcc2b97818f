/**
 * Account channels of the socket (fact sheet 9.3): a snapshot on subscribe, and after each round of events one update per
 * channel with what changed. Everything is printed from the state of that moment, so what a frame says was true then.
 */
import type { SimSocket } from "../../core/server/server-types.js";
import { TopicBoard } from "../../core/server/topic-board.js";
import { printOwnTrade } from "../market/account-trades.js";
import {
  printAsset,
  printLiquidation,
  printPosition,
  printPositionFunding,
  printPositionMap,
  printStats,
} from "./account-view.js";
import type { VenueAccount } from "../records/accounts.js";
import type { AccountChannel } from "../market/channels.js";
import type { VenuethreeContext } from "../orders/context.js";
import { printJson, type Row } from "../wire/json.js";
import type { EventListener } from "../orders/order-events.js";
import { printOrder } from "../orders/order-view.js";
import type { TradingMarket, VenueOrder } from "../orders/orders.js";
import type { TradeSides } from "../orders/trade-sides.js";
import { printTransaction, type StoredTransaction } from "../orders/transactions.js";

/** What happened to one account since the last round. */
interface Changes {
  readonly orders: Map<bigint, VenueOrder>;
  readonly prints: Set<TradeSides>;
  readonly positions: Set<number>;
  readonly transactions: StoredTransaction[];
  readonly liquidated: VenueOrder[];
  hasCash: boolean;
}

const DAY_MS = 86_400_000;
/** Payments shown with the snapshot of account_all. */
const FUNDINGS_SHOWN = 100;
const USDC_KEY = "3";

export class AccountStreams implements EventListener {
  readonly board = new TopicBoard();
  readonly #context: () => VenuethreeContext;
  readonly #channels = new Map<string, AccountChannel>();
  /** The same by account, so that a round costs what its accounts listen to. */
  readonly #listened = new Map<VenueAccount, Map<string, AccountChannel>>();
  readonly #changes = new Map<VenueAccount, Changes>();
  /** Newest statistics told per channel: they move with the mark, and are reported when they have. */
  readonly #toldStats = new Map<string, string>();

  /** The context is complete only after this was made. */
  constructor(context: () => VenuethreeContext) {
    this.#context = context;
  }

  subscribe(socket: SimSocket, channel: AccountChannel): void {
    this.#channels.set(channel.name, channel);
    const own = this.#listened.get(channel.account) ?? new Map<string, AccountChannel>();
    this.#listened.set(channel.account, own.set(channel.name, channel));
    this.board.add(socket, channel.name);
    socket.push("user", `subscribed/${channel.name}`, printJson(this.#snapshot(channel)), false);
  }

  unsubscribe(socket: SimSocket, name: string): boolean {
    const wasOn = this.board.remove(socket, name);
    this.#forgetUnwanted(name);
    return wasOn;
  }

  drop(socket: SimSocket): void {
    const names = [...this.board.of(socket)];
    this.board.drop(socket);
    for (const name of names) this.#forgetUnwanted(name);
  }

  /** Different accounts that a connection would follow with this one. */
  accountCountWith(socket: SimSocket, account: VenueAccount): number {
    const followed = [...this.board.of(socket)].map((name) => this.#channels.get(name)?.account);
    return new Set([...followed, account]).size;
  }

  /* ---------------------------------------------------------------- events */

  onOrder(order: VenueOrder): void {
    this.#of(order.account).orders.set(order.index, order);
  }

  onPrint(account: VenueAccount, print: TradeSides): void {
    this.#of(account).prints.add(print);
  }

  onPosition(account: VenueAccount, marketId: number): void {
    this.#of(account).positions.add(marketId);
  }

  onCash(account: VenueAccount): void {
    this.#of(account).hasCash = true;
  }

  onLiquidated(account: VenueAccount, order: VenueOrder): void {
    this.#of(account).liquidated.push(order);
  }

  onTransaction(stored: StoredTransaction): void {
    this.#of(stored.account).transactions.push(stored);
  }

  flush(): void {
    const waiting = [...this.#changes];
    this.#changes.clear();
    for (const [account, changes] of waiting) {
      // A push that cuts its socket changes the map: walk a copy.
      for (const channel of [...(this.#listened.get(account)?.values() ?? [])])
        for (const fields of this.#updates(channel, changes)) this.#publish(channel, fields);
    }
  }

  /** Statistics follow the mark: once per interval, when they differ from what was reported. */
  pushStats(): void {
    for (const name of [...this.board.topics]) {
      const channel = this.#channels.get(name);
      if (channel?.kind !== "user_stats") continue;
      const stats = printStats(this.#context(), channel.account);
      if (this.#toldStats.get(name) !== JSON.stringify(stats)) this.#publish(channel, this.#stats(channel));
    }
  }

  #of(account: VenueAccount): Changes {
    let changes = this.#changes.get(account);
    if (changes === undefined) {
      changes = {
        orders: new Map(),
        prints: new Set(),
        positions: new Set(),
        transactions: [],
        liquidated: [],
        hasCash: false,
      };
      this.#changes.set(account, changes);
    }
    return changes;
  }

  #publish(channel: AccountChannel, fields: Row): void {
    const frame = this.#frame(channel, "update", fields);
    this.board.publish(channel.name, `update/${channel.name}`, printJson(frame), false, "user");
  }

  #frame(channel: AccountChannel, type: string, fields: Row): Row {
    return {
      channel: channel.shownName,
      ...fields,
      timestamp: this.#context().exchange.nowMs(),
      type: `${type}/${channel.kind}`,
    };
  }

  #forgetUnwanted(name: string): void {
    const channel = this.#channels.get(name);
    if (channel === undefined || this.board.isWanted(name)) return;
    const own = this.#listened.get(channel.account);
    own?.delete(name);
    if (own?.size === 0) this.#listened.delete(channel.account);
    this.#channels.delete(name);
    this.#toldStats.delete(name);
  }

  /* ---------------------------------------------------------------- snapshots */

  #snapshot(channel: AccountChannel): Row {
    return this.#frame(channel, "subscribed", this.#first(channel));
  }

  #first(channel: AccountChannel): Row {
    const context = this.#context();
    const { account, market } = channel;
    switch (channel.kind) {
      case "account_all":
        return { ...this.#all(channel, []), ...this.#volumes(account) };
      case "account_market":
        return this.#market(channel, this.#openOrders(account, market), []);
      case "account_all_orders":
        return { orders: byMarket(this.#openOrders(account, null), (order) => printOrder(order, false)) };
      case "account_orders":
        return this.#orders(channel, this.#openOrders(account, market), false);
      case "account_all_trades":
        return { ...this.#volumes(account), trades: {} };
      case "account_all_positions":
        return { positions: printPositionMap(context, account), shares: [] };
      case "account_all_assets":
        return { assets: { [USDC_KEY]: printAsset(context, account) } };
      case "user_stats":
        return this.#stats(channel);
      case "account_tx":
        return { txs: [] };
      case "notification":
        return { notifs: [] };
    }
  }

  /* ---------------------------------------------------------------- updates */

  #updates(channel: AccountChannel, changes: Changes): Row[] {
    const context = this.#context();
    const { account, market } = channel;
    const orders = [...changes.orders.values()].filter((order) => isOf(order, market));
    const prints = [...changes.prints].filter((print) => isOf(print.buyer?.order ?? print.seller?.order, market));
    const hasPosition = market === null ? changes.positions.size > 0 : changes.positions.has(market.marketId);
    switch (channel.kind) {
      case "account_all":
        return hasPosition || prints.length > 0 || changes.hasCash ? [this.#all(channel, prints)] : [];
      case "account_market":
        return hasPosition || orders.length > 0 || prints.length > 0 ? [this.#market(channel, orders, prints)] : [];
      case "account_all_orders":
        return orders.length > 0 ? [{ orders: byMarket(orders, (order) => printOrder(order, true)) }] : [];
      case "account_orders":
        return orders.length > 0 ? [this.#orders(channel, orders, true)] : [];
      case "account_all_trades":
        return prints.length > 0 ? [{ trades: this.#trades(prints) }] : [];
      case "account_all_positions":
        return hasPosition || orders.length > 0 ? [{ positions: printPositionMap(context, account), shares: [] }] : [];
      case "account_all_assets":
        return changes.hasCash ? [{ assets: { [USDC_KEY]: printAsset(context, account) } }] : [];
      case "user_stats":
        return changes.hasCash || hasPosition || orders.length > 0 ? [this.#stats(channel)] : [];
      case "account_tx":
        return changes.transactions.length > 0 ? [{ txs: changes.transactions.map(printTransaction) }] : [];
      case "notification":
        return changes.liquidated.map((order) => this.#liquidation(account, order));
    }
  }

  #openOrders(account: VenueAccount, market: TradingMarket | null): VenueOrder[] {
    return this.#context()
      .orders.open(account)
      .filter((order) => isOf(order, market));
  }

  #orders(channel: AccountChannel, orders: readonly VenueOrder[], isUpdate: boolean): Row {
    const { account } = channel;
    return {
      account: account.index,
      nonce: this.#context().exchange.engineSeq(),
      orders: byMarket(orders, (order) => printOrder(order, isUpdate)),
    };
  }

  #all({ account }: AccountChannel, prints: readonly TradeSides[]): Row {
    const context = this.#context();
    return {
      account: account.index,
      assets: { [USDC_KEY]: printAsset(context, account) },
      funding_histories: this.#fundings(account),
      positions: printPositionMap(context, account),
      shares: [],
      trades: this.#trades(prints),
    };
  }

  #market({ account, market }: AccountChannel, orders: readonly VenueOrder[], prints: readonly TradeSides[]): Row {
    const context = this.#context();
    if (market === null) return {};
    return {
      account: account.index,
      assets: null,
      funding_history: this.#fundings(account)[String(market.marketId)] ?? null,
      orders: orders.map((order) => printOrder(order, true)),
      position: printPosition(context, account, market),
      trades: prints.map((print) => printOwnTrade(context, print)).reverse(),
    };
  }

  /** Newest first per market. */
  #trades(prints: readonly TradeSides[]): Row {
    const context = this.#context();
    const rows: Record<string, Row[]> = {};
    for (const print of prints) {
      const row = printOwnTrade(context, print);
      listAt(rows, row.market_id).unshift(row);
    }
    return rows;
  }

  #fundings(account: VenueAccount): Readonly<Record<string, readonly Row[]>> {
    const { exchange, listing } = this.#context();
    const rows: Record<string, Row[]> = {};
    for (const income of exchange.income(account.id).slice(-FUNDINGS_SHOWN)) {
      const market = income.symbol === null ? undefined : listing.bySymbol.get(income.symbol);
      if (income.type !== "FUNDING_FEE" || market === undefined || market.instrument === null) continue;
      listAt(rows, market.marketId).unshift(printPositionFunding(income, market as TradingMarket));
    }
    return rows;
  }

  #stats(channel: AccountChannel): Row {
    const stats = printStats(this.#context(), channel.account);
    this.#toldStats.set(channel.name, JSON.stringify(stats));
    return { stats };
  }

  /** Counts and quote volumes of a day, a week, a month and ever, in snapshots only. Floats: figures for people. */
  #volumes(account: VenueAccount): Row {
    const { prints, exchange } = this.#context();
    const nowMs = exchange.nowMs();
    const own = prints.of(account.index);
    const within = (days: number): readonly TradeSides[] =>
      own.filter(({ trade }) => trade.tsMs > nowMs - days * DAY_MS);
    const volume = (list: readonly TradeSides[]): number => list.reduce((sum, print) => sum + quoteValue(print), 0);
    const [day, week, month] = [within(1), within(7), within(30)];
    return {
      daily_trades_count: day.length,
      weekly_trades_count: week.length,
      monthly_trades_count: month.length,
      total_trades_count: own.length,
      daily_volume: volume(day),
      weekly_volume: volume(week),
      monthly_volume: volume(month),
      total_volume: volume(own),
    };
  }

  #liquidation(account: VenueAccount, order: VenueOrder): Row {
    const { exchange } = this.#context();
    const { market, core } = order;
    const lots = (core?.filledLots ?? 0) * (order.fields.isAsk === 1 ? 1 : -1);
    const markTicks = Math.round(exchange.mark(market.symbol).markE8 / 10 ** (8 - market.priceDecimals));
    const content = printLiquidation(market, lots, markTicks, order.updatedMs);
    return {
      notifs: [
        {
          id: String(order.index),
          created_at: new Date(order.updatedMs).toISOString(),
          updated_at: new Date(order.updatedMs).toISOString(),
          kind: "liquidation",
          account_index: account.index,
          content,
          ack: false,
          acked_at: null,
        },
      ],
    };
  }
}

function isOf(order: VenueOrder | undefined, market: TradingMarket | null): boolean {
  return market === null || order?.market.marketId === market.marketId;
}

function byMarket(orders: readonly VenueOrder[], print: (order: VenueOrder) => Row): Row {
  const rows: Record<string, Row[]> = {};
  for (const order of orders) listAt(rows, order.market.marketId).push(print(order));
  return rows;
}

/** The list of one market, made when it is first asked for. */
function listAt(rows: Record<string, Row[]>, marketId: unknown): Row[] {
  const key = String(marketId);
  const list = rows[key] ?? [];
  rows[key] = list;
  return list;
}

function quoteValue({ trade, buyer, seller }: TradeSides): number {
  const instrument = (buyer ?? seller)?.order.market.instrument;
  if (instrument === undefined) return 0;
  return (trade.priceTicks / 10 ** instrument.priceDecimals) * (trade.qtyLots / 10 ** instrument.qtyDecimals);
}

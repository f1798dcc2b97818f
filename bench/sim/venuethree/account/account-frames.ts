/** What each account channel shows of an account, printed from the state of that moment (fact sheet 9.3). Changes nothing. */
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
import type { AccountChanges } from "./round-changes.js";
import type { AccountChannel } from "../market/channels.js";
import type { VenuethreeContext } from "../orders/context.js";
import type { Row } from "../wire/json.js";
import { printOrder } from "../orders/order-view.js";
import type { TradingMarket, VenueOrder } from "../orders/orders.js";
import type { TradeSides } from "../orders/trade-sides.js";
import { printTransaction } from "../orders/transactions.js";

const DAY_MS = 86_400_000;
/** Payments shown with the snapshot of account_all. */
const FUNDINGS_SHOWN = 100;
const USDC_KEY = "3";

export class AccountFrames {
  readonly #context: () => VenuethreeContext;

  /** The context is complete only after this constructor. */
  constructor(context: () => VenuethreeContext) {
    this.#context = context;
  }

  frame(channel: AccountChannel, type: "subscribed" | "update", fields: Row): Row {
    return {
      channel: channel.shownName,
      ...fields,
      timestamp: this.#context().exchange.nowMs(),
      type: `${type}/${channel.kind}`,
    };
  }

  /** Fields of the frame that answers a subscription. */
  first(channel: AccountChannel): Row {
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
        return this.#stats(account);
      case "account_tx":
        return { txs: [] };
      case "notification":
        return { notifs: [] };
    }
  }

  /** Fields of one frame for each thing that the channel shows of a round; empty when it shows none. */
  updates(channel: AccountChannel, changes: AccountChanges): Row[] {
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
        return changes.hasCash || hasPosition || orders.length > 0 ? [this.#stats(account)] : [];
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
      nonce: this.#context().exchange.market.engineSeq(),
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
    for (const income of exchange.accounts.income(account.id).slice(-FUNDINGS_SHOWN)) {
      const market = income.symbol === null ? undefined : listing.bySymbol.get(income.symbol);
      if (income.type !== "FUNDING_FEE" || market === undefined || market.instrument === null) continue;
      listAt(rows, market.marketId).unshift(printPositionFunding(income, market as TradingMarket));
    }
    return rows;
  }

  #stats(account: VenueAccount): Row {
    return { stats: printStats(this.#context(), account) };
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
    const markTicks = Math.round(exchange.market.mark(market.symbol).markE8 / 10 ** (8 - market.priceDecimals));
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

/** The list of one market, made at its first use. */
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

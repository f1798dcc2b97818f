/**
 * Pushes of one socket. Invariants: one push clock per socket and book variant, under which every coin of a push
 * carries the same time; unchanged books are sent again; a top of book is sent only when it changed; trades and user
 * events leave in blocks, nothing twice.
 */
import { deflateRawSync } from "node:zlib";
import type { TimerHandle } from "../../../engine/domain/clock.js";
import type { SimSocket } from "../core/server/server-types.js";
import type { SimFill, SimIncome, SimOrder, SimTrade } from "../core/model/types.js";
import {
  fillData,
  fundingData,
  orderHistoryData,
  orderUpdateData,
  snapshotData,
  stateData,
} from "./account/account-frames.js";
import { CANDLE_INTERVALS, spotMids } from "./market/info-market.js";
import type { InfoContext } from "./account/info-account.js";
import type { Commit } from "./orders/journal.js";
import { allMidsData, assetCtx } from "./market/market-rows.js";
import type { VenueoneCadences } from "./records/options.js";
import { candleRow, instrumentOf, tradeRow } from "./records/rows.js";
import type { StreamType, Subscription } from "./market/subscriptions.js";
import { SPOT_PAIRS, spotCtx } from "./records/universe.js";
import type { LedgerRow, Venue } from "./records/venue.js";

/** Trades older than this are not replayed on subscribing. */
const TRADE_REPLAY_MS = 20_000;
/** Trades of one coin waiting for the next block; overflow drops the oldest. */
const PENDING_TRADES_MAX = 1_000;
/** Push intervals were seen to wander by a few percent. */
const JITTER = 0.04;

type ClockName = "block" | "book" | "fastBook" | "assetCtx" | "allMids" | "candle" | "allDexsCtx" | "userState";

const CLOCK_OF: Partial<Record<StreamType, ClockName>> = {
  bbo: "block",
  trades: "block",
  activeAssetCtx: "assetCtx",
  assetCtxs: "assetCtx",
  fastAssetCtxs: "assetCtx",
  candle: "candle",
  allMids: "allMids",
  allDexsAssetCtxs: "allDexsCtx",
  clearinghouseState: "userState",
  allDexsClearinghouseState: "userState",
  openOrders: "userState",
  spotState: "userState",
  activeAssetData: "userState",
};

interface Active {
  readonly subscription: Subscription;
  readonly pendingTrades: SimTrade[];
  lastTouch: string;
  lastCtx: Map<string, string>;
}

export interface SocketStreamsDeps {
  readonly context: InfoContext;
  readonly socket: SimSocket;
  /** Told about every frame, for the idle rule. */
  readonly onSend: () => void;
}

export class SocketStreams {
  readonly #context: InfoContext;
  readonly #socket: SimSocket;
  readonly #onSend: () => void;
  readonly #active = new Map<string, Active>();
  readonly #timers = new Map<ClockName, TimerHandle>();

  constructor({ context, socket, onSend }: SocketStreamsDeps) {
    this.#context = context;
    this.#socket = socket;
    this.#onSend = onSend;
  }

  has(key: string): boolean {
    return this.#active.has(key);
  }

  get count(): number {
    return this.#active.size;
  }

  get users(): ReadonlySet<string> {
    const found = new Set<string>();
    for (const { subscription } of this.#active.values()) if (subscription.user !== null) found.add(subscription.user);
    return found;
  }

  /** Starts the stream; call `sendFirst` after the acknowledgement went out. */
  add(subscription: Subscription): void {
    this.#active.set(subscription.key, { subscription, pendingTrades: [], lastTouch: "", lastCtx: new Map() });
    const name = clockOf(subscription);
    if (name !== null) this.#startClock(name);
  }

  sendFirst(subscription: Subscription): void {
    const entry = this.#active.get(subscription.key);
    if (entry === undefined) return;
    const { coin, user, type } = subscription;
    if (user !== null) {
      const data = snapshotData(this.#context, subscription, user);
      if (data !== null) this.#push(subscription, data);
    } else if (type === "l2Book") this.#pushBooks([entry]);
    else if (type === "trades") this.#push(subscription, this.#recentTrades(coin ?? ""));
    else this.#pushOne(entry);
  }

  remove(key: string): void {
    this.#active.delete(key);
  }

  onTrade(trade: SimTrade): void {
    for (const entry of this.#active.values()) {
      if (entry.subscription.type !== "trades" || entry.subscription.coin !== trade.symbol) continue;
      if (entry.pendingTrades.length >= PENDING_TRADES_MAX) entry.pendingTrades.shift();
      entry.pendingTrades.push(trade);
    }
  }

  onCommit(commit: Commit): void {
    for (const user of this.users) {
      const orders = commit.orders.get(user) ?? [];
      const fills = commit.fills.get(user) ?? [];
      const funding = commit.funding.get(user) ?? [];
      if (orders.length + fills.length + funding.length === 0) continue;
      this.#pushChanges(user, orders, fills, funding);
      this.#pushEvents(user, commit.liquidations.get(user), orders, fills, funding);
      for (const { subscription } of this.#active.values()) {
        if (subscription.user === user && clockOf(subscription) === "userState")
          this.#push(subscription, stateData(this.#context, subscription, user));
      }
    }
  }

  onLedgerRow(user: string, row: LedgerRow): void {
    this.#tell("userNonFundingLedgerUpdates", user, () => ({ user, nonFundingLedgerUpdates: [row] }));
  }

  stop(): void {
    for (const timer of this.#timers.values()) this.#context.venue.exchange.clock.clearTimer(timer);
    this.#timers.clear();
    this.#active.clear();
  }

  #push(subscription: Subscription, data: unknown): void {
    const scope = subscription.user === null ? "market" : "user";
    const sequenced = subscription.type === "l2Book" || subscription.type === "bbo";
    this.#onSend();
    const { coin, type, user } = subscription;
    const name = `${type}${coin === null ? "" : `:${coin}`}${user === null ? "" : `:${user}`}`;
    this.#socket.push(scope, name, JSON.stringify({ channel: subscription.channel, data }), sequenced);
  }

  /* ---------------------------------------------------------------- clocks */

  #startClock(name: ClockName): void {
    if (this.#timers.has(name)) return;
    const { random, cadences, exchange } = this.#context.venue;
    const delayMs = Math.max(1, Math.round(intervalOf(cadences, name) * (1 + JITTER * (random.next() * 2 - 1))));
    const fire = (): void => {
      this.#timers.delete(name);
      const due = [...this.#active.values()].filter((entry) => clockOf(entry.subscription) === name);
      if (due.length === 0) return;
      this.#startClock(name);
      if (name === "book" || name === "fastBook") this.#pushBooks(due);
      else for (const entry of due) this.#pushOne(entry);
    };
    this.#timers.set(name, exchange.clock.setTimer(fire, delayMs));
  }

  #pushBooks(due: readonly Active[]): void {
    const { exchange } = this.#context.venue;
    const coins = due.flatMap(({ subscription: { coin } }) =>
      coin !== null && exchange.instruments.has(coin) ? [coin] : [],
    );
    const time = this.#context.publisher.stamp([...new Set(coins)]);
    for (const { subscription } of due) this.#push(subscription, this.#bookOf(subscription, time));
  }

  #bookOf(subscription: Subscription, time: number): unknown {
    const { venue, publisher } = this.#context;
    const coin = subscription.coin ?? "";
    return venue.exchange.instruments.has(coin)
      ? publisher.book(coin, subscription, time)
      : { coin, time, levels: [[], []] };
  }

  #recentTrades(coin: string): readonly unknown[] {
    const { venue } = this.#context;
    const since = venue.exchange.nowMs() - TRADE_REPLAY_MS;
    const recent = venue.exchange.instruments.has(coin) ? venue.exchange.trades(coin) : [];
    return recent.filter((trade) => trade.tsMs >= since).map((trade) => tradeRow(venue, trade));
  }

  #pushOne(entry: Active): void {
    const { subscription } = entry;
    const { venue } = this.#context;
    const { type, coin, user } = subscription;
    if (user !== null) {
      this.#push(subscription, stateData(this.#context, subscription, user));
      return;
    }
    switch (type) {
      case "bbo":
        this.#pushTouch(entry);
        break;
      case "trades":
        this.#pushTrades(entry);
        break;
      case "activeAssetCtx":
        this.#push(subscription, ctxData(venue, coin ?? ""));
        break;
      case "allMids":
        this.#push(subscription, { mids: allMidsData(venue, spotMids()) });
        break;
      case "allDexsAssetCtxs":
        this.#push(subscription, { ctxs: [["", venue.universe.perps.map((perp) => assetCtx(venue, perp))]] });
        break;
      case "assetCtxs":
        this.#push(subscription, { dex: "", ctxs: venue.universe.perps.map((perp) => assetCtx(venue, perp)) });
        break;
      case "fastAssetCtxs":
        this.#pushFastCtxs(entry);
        break;
      case "candle":
        this.#pushCandle(subscription);
        break;
      default:
        // Books have their own push; user streams were answered above.
        break;
    }
  }

  #pushTrades({ subscription, pendingTrades }: Active): void {
    if (pendingTrades.length === 0) return;
    const rows = pendingTrades.splice(0).map((trade) => tradeRow(this.#context.venue, trade));
    this.#push(subscription, rows);
  }

  /** Only when the touch differs from the last one sent. */
  #pushTouch(entry: Active): void {
    const { venue, publisher } = this.#context;
    const coin = entry.subscription.coin ?? "";
    if (!venue.exchange.instruments.has(coin)) return;
    const touch = publisher.touch(coin);
    const shown = JSON.stringify(touch);
    if (shown === entry.lastTouch) return;
    entry.lastTouch = shown;
    this.#push(entry.subscription, { coin, time: publisher.stamp([coin]), bbo: touch });
  }

  #pushFastCtxs(entry: Active): void {
    const { venue } = this.#context;
    const changed: Record<string, { markPx?: unknown; midPx?: unknown }> = {};
    for (const perp of venue.universe.perps) {
      const { markPx, midPx } = assetCtx(venue, perp);
      const shown = JSON.stringify([markPx, midPx]);
      if (entry.lastCtx.get(perp.name) === shown) continue;
      entry.lastCtx.set(perp.name, shown);
      changed[perp.name] = { markPx, ...(midPx === null ? {} : { midPx }) };
    }
    this.#push(entry.subscription, deflateRawSync(JSON.stringify(changed)).toString("base64"));
  }

  #pushCandle(subscription: Subscription): void {
    const { exchange } = this.#context.venue;
    const { coin, interval } = subscription;
    const intervalMs = CANDLE_INTERVALS[interval ?? ""];
    if (coin === null || interval === null || intervalMs === undefined || !exchange.instruments.has(coin)) return;
    const running = exchange.candles(coin, intervalMs).at(-1);
    if (running !== undefined)
      this.#push(subscription, candleRow(instrumentOf(exchange, coin), interval, running, intervalMs));
  }

  /* ---------------------------------------------------------------- events */

  #tell(type: StreamType, user: string, data: () => unknown): void {
    for (const { subscription } of this.#active.values()) {
      if (subscription.type === type && subscription.user === user) this.#push(subscription, data());
    }
  }

  #pushChanges(
    user: string,
    orders: readonly SimOrder[],
    fills: readonly SimFill[],
    funding: readonly SimIncome[],
  ): void {
    const { venue } = this.#context;
    if (orders.length > 0) {
      this.#tell("orderUpdates", user, () => orderUpdateData(venue, orders));
      this.#tell("userHistoricalOrders", user, () => orderHistoryData(venue, user, orders));
    }
    if (fills.length > 0) this.#tell("userFills", user, () => ({ user, fills: fillData(venue, fills) }));
    if (funding.length > 0) this.#tell("userFundings", user, () => ({ user, fundings: fundingData(venue, funding) }));
  }

  #pushEvents(
    user: string,
    liquidation: Readonly<Record<string, unknown>> | undefined,
    orders: readonly SimOrder[],
    fills: readonly SimFill[],
    funding: readonly SimIncome[],
  ): void {
    const { venue } = this.#context;
    const canceled = orders.filter((order) => order.endReason === "LIQUIDATION" || order.endReason === "MARGIN");
    if (fills.length > 0) this.#tell("userEvents", user, () => ({ fills: fillData(venue, fills) }));
    for (const row of fundingData(venue, funding)) this.#tell("userEvents", user, () => ({ funding: row }));
    if (liquidation !== undefined) this.#tell("userEvents", user, () => ({ liquidation }));
    if (canceled.length > 0) {
      const nonUserCancel = canceled.map((order) => ({ coin: order.symbol, oid: order.orderId }));
      this.#tell("userEvents", user, () => ({ nonUserCancel }));
    }
    if (liquidation !== undefined)
      this.#tell("notification", user, () => ({ notification: "Your position was liquidated." }));
  }
}

function ctxData(venue: Venue, coin: string): unknown {
  const pair = SPOT_PAIRS.find((candidate) => candidate.name === coin);
  if (pair !== undefined) return { coin, ctx: spotCtx(pair) };
  const perp = venue.universe.perpByName.get(coin);
  return { coin, ctx: perp === undefined ? null : assetCtx(venue, perp) };
}

function clockOf(subscription: Subscription): ClockName | null {
  if (subscription.type === "l2Book") return subscription.fast ? "fastBook" : "book";
  return CLOCK_OF[subscription.type] ?? null;
}

function intervalOf(cadences: VenueoneCadences, name: ClockName): number {
  switch (name) {
    case "block":
      return cadences.blockMs;
    case "book":
      return cadences.bookMs;
    case "fastBook":
      return cadences.fastBookMs;
    case "assetCtx":
      return cadences.assetCtxMs;
    case "allMids":
      return cadences.allMidsMs;
    case "candle":
      return cadences.candleMs;
    case "allDexsCtx":
      return cadences.allDexsCtxMs;
    case "userState":
      return cadences.userStateMs;
  }
}

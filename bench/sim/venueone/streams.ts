/**
 * Pushes of one socket. Invariants: one push clock per socket and book variant, under which every coin of a push
 * carries the same time; unchanged books are sent again; a top of book is sent only when it changed; trades and user
 * events leave in blocks, nothing twice.
 */
import { deflateRawSync } from "node:zlib";
import type { TimerHandle } from "../../../engine/domain/clock.js";
import type { SimSocket } from "../core/server-types.js";
import type { SimTrade } from "../core/types.js";
import { fillData, fundingData, orderHistoryData, orderUpdateData, snapshotData, stateData } from "./account-frames.js";
import { CANDLE_INTERVALS, spotMids } from "./info.js";
import type { InfoContext } from "./info-query.js";
import type { Commit } from "./journal.js";
import { allMidsData, assetCtx } from "./market-rows.js";
import type { VenueoneCadences } from "./options.js";
import { candleRow, instrumentOf, tradeRow } from "./rows.js";
import type { StreamType, Subscription } from "./subscriptions.js";
import { SPOT_PAIRS, spotCtx } from "./universe.js";
import type { LedgerRow } from "./venue.js";

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
  webData3: "userState",
};

interface Active {
  readonly subscription: Subscription;
  readonly pendingTrades: SimTrade[];
  lastTouch: string;
  lastCtx: Map<string, string>;
}

export interface SocketStreams {
  has(key: string): boolean;
  readonly count: number;
  readonly users: ReadonlySet<string>;
  /** Starts the stream; call `sendFirst` after the acknowledgement went out. */
  add(subscription: Subscription): void;
  sendFirst(subscription: Subscription): void;
  remove(key: string): void;
  onTrade(trade: SimTrade): void;
  onCommit(commit: Commit): void;
  onLedgerRow(user: string, row: LedgerRow): void;
  stop(): void;
}

export interface SocketStreamsParts {
  readonly context: InfoContext;
  readonly socket: SimSocket;
  /** Told about every frame, for the idle rule. */
  readonly onSend: () => void;
}

export function createSocketStreams({ context, socket, onSend }: SocketStreamsParts): SocketStreams {
  const { venue, publisher } = context;
  const { exchange, cadences } = venue;
  const active = new Map<string, Active>();
  const timers = new Map<ClockName, TimerHandle>();

  function push(subscription: Subscription, data: unknown): void {
    const scope = subscription.user === null ? "market" : "user";
    const sequenced = subscription.type === "l2Book" || subscription.type === "bbo";
    onSend();
    const { coin, type, user } = subscription;
    const name = `${type}${coin === null ? "" : `:${coin}`}${user === null ? "" : `:${user}`}`;
    socket.push(scope, name, JSON.stringify({ channel: subscription.channel, data }), sequenced);
  }

  /* ---------------------------------------------------------------- clocks */

  function startClock(name: ClockName): void {
    if (timers.has(name)) return;
    const delayMs = Math.max(1, Math.round(intervalOf(cadences, name) * (1 + JITTER * (venue.random.next() * 2 - 1))));
    const fire = (): void => {
      timers.delete(name);
      const due = [...active.values()].filter((entry) => clockOf(entry.subscription) === name);
      if (due.length === 0) return;
      startClock(name);
      pushDue(name, due);
    };
    timers.set(name, exchange.clock.setTimer(fire, delayMs));
  }

  function pushDue(name: ClockName, due: readonly Active[]): void {
    if (name === "book" || name === "fastBook") pushBooks(due);
    else for (const entry of due) pushOne(entry);
  }

  function pushBooks(due: readonly Active[]): void {
    const coins = due.flatMap(({ subscription: { coin } }) =>
      coin !== null && exchange.instruments.has(coin) ? [coin] : [],
    );
    const time = publisher.stamp([...new Set(coins)]);
    for (const { subscription } of due) push(subscription, bookOf(subscription, time));
  }

  function bookOf(subscription: Subscription, time: number): unknown {
    const coin = subscription.coin ?? "";
    return exchange.instruments.has(coin) ? publisher.book(coin, subscription, time) : { coin, time, levels: [[], []] };
  }

  function pushOne(entry: Active): void {
    const { subscription } = entry;
    const { type, coin, user } = subscription;
    if (user !== null) {
      push(subscription, stateData(context, subscription, user));
      return;
    }
    switch (type) {
      case "bbo":
        pushTouch(entry);
        break;
      case "trades":
        pushTrades(entry);
        break;
      case "activeAssetCtx":
        push(subscription, ctxData(coin ?? ""));
        break;
      case "allMids":
        push(subscription, { mids: allMidsData(venue, spotMids()) });
        break;
      case "allDexsAssetCtxs":
        push(subscription, { ctxs: [["", venue.universe.perps.map((perp) => assetCtx(venue, perp))]] });
        break;
      case "assetCtxs":
        push(subscription, { dex: "", ctxs: venue.universe.perps.map((perp) => assetCtx(venue, perp)) });
        break;
      case "fastAssetCtxs":
        pushFastCtxs(entry);
        break;
      case "candle":
        pushCandle(subscription);
        break;
      default:
        // Books have their own push; user streams were answered above.
        break;
    }
  }

  function pushTrades({ subscription, pendingTrades }: Active): void {
    if (pendingTrades.length === 0) return;
    const rows = pendingTrades.splice(0).map((trade) => tradeRow(venue, trade));
    push(subscription, rows);
  }

  /** Only when the touch differs from the last one sent. */
  function pushTouch(entry: Active): void {
    const coin = entry.subscription.coin ?? "";
    if (!exchange.instruments.has(coin)) return;
    const probe = publisher.touch(coin);
    const shown = JSON.stringify(probe);
    if (shown === entry.lastTouch) return;
    entry.lastTouch = shown;
    push(entry.subscription, { coin, time: publisher.stamp([coin]), bbo: probe });
  }

  function ctxData(coin: string): unknown {
    const pair = SPOT_PAIRS.find((candidate) => candidate.name === coin);
    if (pair !== undefined) return { coin, ctx: spotCtx(pair) };
    const perp = venue.universe.perpByName.get(coin);
    return { coin, ctx: perp === undefined ? null : assetCtx(venue, perp) };
  }

  function pushFastCtxs(entry: Active): void {
    const changed: Record<string, { markPx?: unknown; midPx?: unknown }> = {};
    for (const perp of venue.universe.perps) {
      const { markPx, midPx } = assetCtx(venue, perp);
      const shown = JSON.stringify([markPx, midPx]);
      if (entry.lastCtx.get(perp.name) === shown) continue;
      entry.lastCtx.set(perp.name, shown);
      changed[perp.name] = { markPx, ...(midPx === null ? {} : { midPx }) };
    }
    push(entry.subscription, deflateRawSync(JSON.stringify(changed)).toString("base64"));
  }

  function pushCandle(subscription: Subscription): void {
    const { coin, interval } = subscription;
    const intervalMs = CANDLE_INTERVALS[interval ?? ""];
    if (coin === null || interval === null || intervalMs === undefined || !exchange.instruments.has(coin)) return;
    const running = exchange.candles(coin, intervalMs).at(-1);
    if (running !== undefined)
      push(subscription, candleRow(instrumentOf(exchange, coin), interval, running, intervalMs));
  }

  /* ---------------------------------------------------------------- events */

  function each(type: StreamType, user: string, send: (subscription: Subscription) => void): void {
    for (const { subscription } of active.values()) {
      if (subscription.type === type && subscription.user === user) send(subscription);
    }
  }

  function pushUserState(user: string): void {
    for (const { subscription } of active.values()) {
      if (subscription.user === user && clockOf(subscription) === "userState") {
        push(subscription, stateData(context, subscription, user));
      }
    }
  }

  function users(): Set<string> {
    const found = new Set<string>();
    for (const { subscription } of active.values()) if (subscription.user !== null) found.add(subscription.user);
    return found;
  }

  return {
    has: (key) => active.has(key),
    get count() {
      return active.size;
    },
    get users() {
      return users();
    },
    add(subscription) {
      active.set(subscription.key, { subscription, pendingTrades: [], lastTouch: "", lastCtx: new Map() });
      const name = clockOf(subscription);
      if (name !== null) startClock(name);
    },
    sendFirst(subscription) {
      const entry = active.get(subscription.key);
      if (entry === undefined) return;
      const { coin, user } = subscription;
      if (user !== null) {
        const data = snapshotData(context, subscription, user);
        if (data !== null) push(subscription, data);
      } else if (subscription.type === "l2Book") pushBooks([entry]);
      else if (subscription.type === "trades") {
        const since = exchange.nowMs() - TRADE_REPLAY_MS;
        const recent = coin !== null && exchange.instruments.has(coin) ? exchange.trades(coin) : [];
        push(
          subscription,
          recent.filter((trade) => trade.tsMs >= since).map((trade) => tradeRow(venue, trade)),
        );
      } else pushOne(entry);
    },
    remove: (key) => active.delete(key),
    onTrade(trade) {
      for (const entry of active.values()) {
        if (entry.subscription.type !== "trades" || entry.subscription.coin !== trade.symbol) continue;
        if (entry.pendingTrades.length >= PENDING_TRADES_MAX) entry.pendingTrades.shift();
        entry.pendingTrades.push(trade);
      }
    },
    onCommit(commit) {
      for (const user of users()) {
        const orders = commit.orders.get(user) ?? [];
        const fills = commit.fills.get(user) ?? [];
        const funding = commit.funding.get(user) ?? [];
        if (orders.length + fills.length + funding.length === 0) continue;
        if (orders.length > 0) {
          each("orderUpdates", user, (subscription) => push(subscription, orderUpdateData(venue, orders)));
          each("userHistoricalOrders", user, (subscription) =>
            push(subscription, orderHistoryData(venue, user, orders)),
          );
        }
        if (fills.length > 0) {
          each("userFills", user, (subscription) => push(subscription, { user, fills: fillData(venue, fills) }));
        }
        if (funding.length > 0) {
          each("userFundings", user, (subscription) =>
            push(subscription, { user, fundings: fundingData(venue, funding) }),
          );
        }
        each("userEvents", user, (subscription) => {
          if (fills.length > 0) push(subscription, { fills: fillData(venue, fills) });
          for (const row of fundingData(venue, funding)) push(subscription, { funding: row });
          const liquidation = commit.liquidations.get(user);
          if (liquidation !== undefined) push(subscription, { liquidation });
          const canceled = orders.filter((order) => order.endReason === "LIQUIDATION" || order.endReason === "MARGIN");
          if (canceled.length > 0) {
            push(subscription, {
              nonUserCancel: canceled.map((order) => ({ coin: order.symbol, oid: order.orderId })),
            });
          }
        });
        if (commit.liquidations.has(user)) {
          each("notification", user, (subscription) =>
            push(subscription, { notification: "Your position was liquidated." }),
          );
        }
        pushUserState(user);
      }
    },
    onLedgerRow(user, row) {
      each("userNonFundingLedgerUpdates", user, (subscription) =>
        push(subscription, { user, nonFundingLedgerUpdates: [row] }),
      );
    },
    stop() {
      for (const timer of timers.values()) exchange.clock.clearTimer(timer);
      timers.clear();
      active.clear();
    },
  };
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

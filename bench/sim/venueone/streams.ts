/**
 * Pushes of one socket. Invariants: one push clock per socket and book variant, under which every coin of a push
 * carries the same time. Unchanged books are sent again, a top of book only when it changed. Trades and user events are
 * sent in blocks, each once.
 */
import type { TimerHandle } from "../../../engine/domain/clock.js";
import type { SimTrade } from "../core/model/types.js";
import type { SimSocket } from "../core/server/server-types.js";
import { snapshotData, stateData, userEvents } from "./account/account-frames.js";
import type { InfoContext } from "./account/info-account.js";
import { marketData, recentTrades, type StreamMemory, streamBook } from "./market/market-frames.js";
import type { StreamType, Subscription } from "./market/subscriptions.js";
import type { Commit } from "./orders/journal.js";
import type { VenueoneCadences } from "./records/options.js";
import type { LedgerRow } from "./records/venue.js";

/** Trades of one coin waiting for the next block; overflow drops the oldest. */
const PENDING_TRADES_MAX = 1_000;
/** Observed push intervals vary by a few percent. */
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
  readonly memory: StreamMemory;
}

export interface SocketStreamsDeps {
  readonly context: InfoContext;
  readonly socket: SimSocket;
  /** Called on every frame, for the idle rule. */
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

  /** Starts the stream. Call `sendFirst` after the acknowledgement. */
  add(subscription: Subscription): void {
    const memory: StreamMemory = { pendingTrades: [], lastTouch: "", lastCtx: new Map() };
    this.#active.set(subscription.key, { subscription, memory });
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
    else if (type === "trades") this.#push(subscription, recentTrades(this.#context.venue, coin ?? ""));
    else this.#pushOne(entry);
  }

  remove(key: string): void {
    this.#active.delete(key);
  }

  onTrade(trade: SimTrade): void {
    for (const { subscription, memory } of this.#active.values()) {
      if (subscription.type !== "trades" || subscription.coin !== trade.symbol) continue;
      if (memory.pendingTrades.length >= PENDING_TRADES_MAX) memory.pendingTrades.shift();
      memory.pendingTrades.push(trade);
    }
  }

  onCommit(commit: Commit): void {
    for (const user of this.users) {
      const events = userEvents(this.#context.venue, user, commit);
      if (events.length === 0) continue;
      for (const { type, data } of events) this.#publish(type, user, data);
      for (const entry of this.#active.values())
        if (entry.subscription.user === user && clockOf(entry.subscription) === "userState") this.#pushOne(entry);
    }
  }

  onLedgerRow(user: string, row: LedgerRow): void {
    this.#publish("userNonFundingLedgerUpdates", user, () => ({ user, nonFundingLedgerUpdates: [row] }));
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
    const { venue, publisher } = this.#context;
    const coins = due.flatMap(({ subscription: { coin } }) =>
      coin !== null && venue.exchange.instruments.has(coin) ? [coin] : [],
    );
    const time = publisher.stamp([...new Set(coins)]);
    for (const { subscription } of due) this.#push(subscription, streamBook(this.#context, subscription, time));
  }

  #pushOne({ subscription, memory }: Active): void {
    const { user } = subscription;
    const data =
      user === null ? marketData(this.#context, subscription, memory) : stateData(this.#context, subscription, user);
    if (data !== undefined) this.#push(subscription, data);
  }

  #publish(type: StreamType, user: string, data: () => unknown): void {
    for (const { subscription } of this.#active.values()) {
      if (subscription.type === type && subscription.user === user) this.#push(subscription, data());
    }
  }
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

/**
 * Market data of this venue: sockets and subscriptions. Frames go through frame-router.ts.
 *
 * Sockets: shards of coins, four streams each (fast book, touch, trades, context), and one more
 * socket for the deep books, because both depths use one channel and can not be told apart by content.
 *
 * Invariants: only names that the venue's own list holds, and not delisted, are ever subscribed (an
 * unknown one kills the socket); a lost connection or a dead stream takes the books concerned out of LIVE at once.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { Random } from "../../../engine/domain/random.js";
import { LOST_SILENT } from "../../../engine/market/book.js";
import type { Market } from "../../../engine/market/market.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import { logResyncs } from "../../shared/book/resync-log.js";
import { type ConnectionBudget, MessagePacer } from "../../shared/net/connection-budget.js";
import type { Connector } from "../../shared/net/connector.js";
import type { SubscribeProtocol } from "../../shared/net/paced-writer.js";
import { NameTable } from "../../shared/book/name-table.js";
import { PersistentSocket } from "../../shared/net/socket.js";
import type { SocketStats } from "../../shared/net/socket-options.js";
import { type FrameCounts, FrameRouter } from "./frame-router.js";
import { CoinEntry, contextSpec, depthSpec, readName, touchSpec, tradesSpec } from "./entry.js";
import {
  MESSAGES_PER_SECOND,
  PING_EVERY_MS,
  PING_TEXT,
  QUIET_SOCKET_IDLE_MS,
  SOCKET_IDLE_MS,
} from "../rules/limits.js";
import { TIER_DEEP, TIER_FAST, type Tier } from "./apply.js";

/** Streams per coin over all sockets. */
export const STREAMS_PER_COIN = 5;
/** Coins per shard: 300 streams; 356 on one socket were measured to run well. */
const COINS_PER_SHARD = 75;
const SHARD_STREAMS_PER_COIN = 4;

export const SUBSCRIBE_PROTOCOL: SubscribeProtocol = {
  subscribe: (names) => `{"method":"subscribe","subscription":${names[0] ?? "{}"}}`,
  unsubscribe: (names) => `{"method":"unsubscribe","subscription":${names[0] ?? "{}"}}`,
  maxNamesPerFrame: 1,
};

export interface MarketStreamOptions {
  readonly wsUrl: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly connector: Connector;
  readonly clockOffset: ClockOffset;
  readonly budget: ConnectionBudget;
  /** Messages per minute of the IP. */
  readonly messages: MessagePacer;
}

export interface MarketStreamStats extends FrameCounts {
  readonly sockets: readonly SocketStats[];
  readonly streamedCount: number;
  readonly quarantined: readonly string[];
}

class Shard {
  readonly socket: PersistentSocket;
  readonly tier: Tier;
  coinCount = 0;

  constructor(socket: PersistentSocket, tier: Tier) {
    this.socket = socket;
    this.tier = tier;
  }
}

export class MarketStream {
  readonly #options: MarketStreamOptions;
  readonly #coins = new NameTable<CoinEntry>();
  readonly #router: FrameRouter;
  readonly #shards: Shard[] = [];
  #deep: Shard | null = null;
  #isStopped = false;
  readonly #quarantined = new Set<string>();

  constructor(options: MarketStreamOptions) {
    this.#options = options;
    this.#router = new FrameRouter({ ...options, coins: this.#coins });
  }

  get isOpen(): boolean {
    return this.#shards.length > 0 && this.#shards.every((shard) => shard.socket.state === "open");
  }

  streams(coin: string): boolean {
    return this.#coins.get(coin) !== undefined;
  }

  get streamedCount(): number {
    return this.#coins.size;
  }

  stats(): MarketStreamStats {
    const sockets = this.#shards.map((shard) => shard.socket.stats());
    if (this.#deep !== null) sockets.push(this.#deep.socket.stats());
    return {
      sockets,
      streamedCount: this.streamedCount,
      ...this.#router.counts(),
      quarantined: [...this.#quarantined],
    };
  }

  /** Streams a listed market; false when it is streamed already, halted, or the venue gave no room. */
  add(market: Market): boolean {
    const { nativeSymbol: coin, status } = market.instrument;
    if (this.#isStopped || status !== "TRADING" || this.#coins.get(coin) !== undefined) return false;
    const entry = new CoinEntry(market);
    const shard = this.#shardWithRoom();
    const { socket } = shard;
    entry.fast = socket.subscribe(depthSpec(coin, TIER_FAST));
    if (entry.fast === null) return false;
    entry.socket = socket;
    shard.coinCount++;
    entry.touch = socket.subscribe(touchSpec(coin, market));
    entry.trades = socket.subscribe(tradesSpec(coin));
    entry.context = socket.subscribe(contextSpec(coin));
    entry.deep = this.#deepShard().socket.subscribe(depthSpec(coin, TIER_DEEP));
    this.#coins.set(coin, entry);
    logResyncs(this.#options.logger, market);
    entry.applier.reset(TIER_FAST);
    entry.applier.reset(TIER_DEEP);
    return true;
  }

  /** Stops streaming a coin (delisted, re-specified): its books leave LIVE. */
  remove(coin: string): void {
    const entry = this.#coins.get(coin);
    if (entry === undefined) return;
    this.#coins.delete(coin);
    for (const subscription of [entry.fast, entry.touch, entry.trades, entry.context]) {
      if (subscription !== null) entry.socket?.unsubscribe(subscription.spec.name);
    }
    if (entry.deep !== null) this.#deep?.socket.unsubscribe(entry.deep.spec.name);
    for (const shard of this.#shards) if (shard.socket === entry.socket) shard.coinCount--;
    entry.market.book.clear();
    entry.market.deep?.clear();
    entry.market.touch.clear();
  }

  stop(): void {
    this.#isStopped = true;
    for (const shard of this.#shards) shard.socket.stop();
    this.#deep?.socket.stop();
    for (const entry of this.#coins.values()) {
      entry.applier.reset(TIER_FAST);
      entry.applier.reset(TIER_DEEP);
    }
  }

  #shardWithRoom(): Shard {
    const known = this.#shards.find((shard) => shard.coinCount < COINS_PER_SHARD);
    if (known !== undefined) return known;
    const shard = this.#open(`venueone.market${this.#shards.length}`, TIER_FAST);
    this.#shards.push(shard);
    return shard;
  }

  #deepShard(): Shard {
    this.#deep ??= this.#open("venueone.deep", TIER_DEEP);
    return this.#deep;
  }

  #open(name: string, tier: Tier): Shard {
    const { wsUrl, clock, random, logger, connector, budget, messages } = this.#options;
    const socket = new PersistentSocket({
      name,
      url: wsUrl,
      clock,
      random,
      logger,
      connector,
      budget,
      protocol: SUBSCRIBE_PROTOCOL,
      pacers: () => [messages, new MessagePacer(clock, MESSAGES_PER_SECOND, 1_000)],
      maxSubscriptions: tier === TIER_FAST ? COINS_PER_SHARD * SHARD_STREAMS_PER_COIN : 1_000,
      heartbeat: {
        pingText: PING_TEXT,
        everyMs: PING_EVERY_MS,
        idleMs: tier === TIER_FAST ? SOCKET_IDLE_MS : QUIET_SOCKET_IDLE_MS,
      },
      handlers: {
        onFrame: (data, tsRecvNs, linkId) => this.#router.onFrame(tier, data, tsRecvNs, linkId),
        onDown: () => this.#down(shard),
        onSilent: (text) => this.#silent(text, tier),
        onQuarantined: (text) => this.#quarantine(text),
        onRetried: (text) => this.#quarantined.delete(text),
      },
    });
    const shard = new Shard(socket, tier);
    socket.start();
    return shard;
  }

  #down(shard: Shard): void {
    for (const entry of this.#coins.values()) {
      if (shard.tier === TIER_DEEP) entry.applier.reset(TIER_DEEP);
      else if (entry.socket === shard.socket) entry.applier.reset(TIER_FAST);
    }
  }

  #silent(name: string, tier: Tier): void {
    const { type, coin } = readName(name);
    const entry = this.#coins.get(coin);
    if (entry === undefined) return;
    if (type === "l2Book") (tier === TIER_FAST ? entry.market.book : entry.market.deep)?.beginSync(LOST_SILENT);
    else if (type === "bbo") entry.market.touch.clear();
  }

  #quarantine(name: string): void {
    const { coin } = readName(name);
    this.#quarantined.add(name);
    const entry = this.#coins.get(coin);
    entry?.applier.reset(TIER_FAST);
    entry?.applier.reset(TIER_DEEP);
  }
}

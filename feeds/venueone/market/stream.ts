/**
 * Market data of this venue: sockets, subscriptions, and the way of each frame into books, touch,
 * ticker and trades.
 *
 * Sockets: shards of coins, four streams each (fast book, touch, trades, context), and one more
 * socket for the deep books, because both depths use one channel and can not be told apart by content.
 *
 * Invariants: only names that the venue's own list holds, and not delisted, are ever subscribed (an
 * unknown one kills the socket); a frame changes its book whole or not at all; a lost connection or a
 * dead stream takes the books concerned out of LIVE at once.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { Random } from "../../../engine/domain/random.js";
import { INVALID_DECODE, LOST_SILENT } from "../../../engine/market/book.js";
import type { Market } from "../../../engine/market/market.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import { logResyncs } from "../../shared/book/resync-log.js";
import { type ConnectionBudget, MessagePacer } from "../../shared/net/connection-budget.js";
import type { Connector } from "../../shared/net/connector.js";
import { type DropReason, logDropped } from "../../shared/net/dropped-frame.js";
import type { SubscribeProtocol } from "../../shared/net/paced-writer.js";
import { NameTable } from "../../shared/book/name-table.js";
import { PersistentSocket } from "../../shared/net/socket.js";
import type { SocketStats } from "../../shared/net/socket-options.js";
import { isTradeTime } from "../../shared/book/stamps.js";
import { CoinEntry, contextSpec, depthSpec, readName, touchSpec, tradesSpec } from "./entry.js";
import { decodeFrame, type VenueoneMarketFrame } from "./decode.js";
import { DepthScanner, SCAN_BBO, SCAN_BOOK, type ScanKind } from "./scan.js";
import {
  MESSAGES_PER_SECOND,
  PING_EVERY_MS,
  PING_TEXT,
  QUIET_SOCKET_IDLE_MS,
  SOCKET_IDLE_MS,
} from "../rules/limits.js";
import { type Applied, DRIFT, REFUSED, TIER_DEEP, TIER_FAST, type Tier } from "./apply.js";
import { applyContext, applyLastTrade, normalizeTrade } from "./normalize.js";
import type { VenueoneWireContext, VenueoneWireTrade } from "./wire.js";

/** Streams per coin over all sockets. */
export const STREAMS_PER_COIN = 5;
/** Coins per shard: 300 streams; 356 on one socket were measured to run well. */
const COINS_PER_SHARD = 75;
const SHARD_STREAMS_PER_COIN = 4;
/** Error frames logged; more are only counted. */
const MAX_LOGGED_ERRORS = 50;

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

export interface MarketStreamStats {
  readonly sockets: readonly SocketStats[];
  readonly streamedCount: number;
  readonly decodeErrorCount: number;
  readonly protocolDriftCount: number;
  /** Books refused by their own checks. */
  readonly refusedCount: number;
  readonly unknownCoinCount: number;
  readonly errorFrameCount: number;
  /** Depth frames that went the slow way. */
  readonly slowDepthCount: number;
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
  readonly #scanner = new DepthScanner();
  readonly #shards: Shard[] = [];
  #deep: Shard | null = null;
  #isStopped = false;
  #decodeErrorCount = 0;
  #driftCount = 0;
  #refusedCount = 0;
  #unknownCoinCount = 0;
  #errorFrameCount = 0;
  #slowDepthCount = 0;
  readonly #quarantined = new Set<string>();

  constructor(options: MarketStreamOptions) {
    this.#options = options;
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
      decodeErrorCount: this.#decodeErrorCount,
      protocolDriftCount: this.#driftCount,
      refusedCount: this.#refusedCount,
      unknownCoinCount: this.#unknownCoinCount,
      errorFrameCount: this.#errorFrameCount,
      slowDepthCount: this.#slowDepthCount,
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
        onFrame: (data, tsRecvNs, linkId) => this.#frame(tier, data, tsRecvNs, linkId),
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

  #frame(tier: Tier, data: Buffer, tsRecvNs: number, linkId: number): void {
    const kind: ScanKind = this.#scanner.scan(data);
    if (kind === SCAN_BOOK || kind === SCAN_BBO) {
      const { coinStart, coinEnd } = this.#scanner;
      const entry = this.#coins.find(data, coinStart, coinEnd);
      if (entry === undefined) this.#unknownCoin(kind === SCAN_BBO ? "bbo" : "l2Book", "");
      else this.#depth(entry, kind, tier, tsRecvNs, linkId);
      return;
    }
    this.#slowFrame(decodeFrame(data), tier, tsRecvNs, linkId);
  }

  #depth(entry: CoinEntry, kind: ScanKind, tier: Tier, tsRecvNs: number, linkId: number): void {
    // Also a frame that proves nothing tells that its stream is not dead.
    (kind === SCAN_BBO ? entry.touch : tier === TIER_FAST ? entry.fast : entry.deep)?.alive(tsRecvNs, linkId);
    if (!this.#isPlausible(this.#scanner.timeMs)) {
      this.#drifted(kind === SCAN_BBO ? "bbo" : "l2Book", "WRONG_TIME", entry.market.instrument.symbol);
      return;
    }
    const lateNs = this.#lateNs(entry, tier, this.#scanner.timeMs);
    if (kind === SCAN_BBO) {
      // A delayed touch would override a fresher book's levels by its venue time only; still, it is not news.
      this.#count(entry, "bbo", entry.applier.applyTouch(this.#scanner, tsRecvNs - lateNs));
      return;
    }
    this.#count(entry, "l2Book", entry.applier.applyBook(this.#scanner, tier, tsRecvNs, lateNs));
  }

  /** A frame held up on its way longer than its tier may be old proves only what was true when it left. */
  #lateNs({ applier, market }: CoinEntry, tier: Tier, timeMs: number): number {
    const { clock, clockOffset } = this.#options;
    const nowMs = clock.wallMs();
    clockOffset.addEvent(timeMs, nowMs);
    applier.forgetBeyond(clockOffset.latestMs(nowMs));
    return clockOffset.lateMs(timeMs, nowMs, tier === TIER_FAST ? market.maxBookAgeMs : market.maxDeepAgeMs) * 1e6;
  }

  #isPlausible(timeMs: number): boolean {
    const { clock, clockOffset } = this.#options;
    return clockOffset.isPlausible(timeMs, clock.wallMs());
  }

  #count(entry: CoinEntry, channel: "l2Book" | "bbo", applied: Applied): void {
    if (applied === DRIFT) this.#drifted(channel, "DRIFT", entry.market.instrument.symbol);
    else if (applied === REFUSED) {
      this.#refusedCount++;
      logDropped(this.#options.logger, "venueone", channel, "IMPOSSIBLE", entry.market.instrument.symbol);
    }
  }

  #drifted(channel: string, reason: DropReason, coin: string): void {
    this.#driftCount++;
    logDropped(this.#options.logger, "venueone", channel, reason, coin);
  }

  #unknownCoin(channel: string, coin: string): void {
    this.#unknownCoinCount++;
    logDropped(this.#options.logger, "venueone", channel, "UNKNOWN_SYMBOL", coin);
  }

  #slowFrame(frame: VenueoneMarketFrame, tier: Tier, tsRecvNs: number, linkId: number): void {
    switch (frame.kind) {
      case "book":
      case "bbo": {
        this.#slowDepthCount++;
        const { coin, time } = frame.kind === "book" ? frame.book : frame.bbo;
        const entry = this.#coins.get(coin);
        if (entry === undefined) {
          this.#unknownCoin(frame.kind, coin);
          return;
        }
        (frame.kind === "bbo" ? entry.touch : tier === TIER_FAST ? entry.fast : entry.deep)?.alive(tsRecvNs, linkId);
        if (!this.#isPlausible(time)) {
          this.#drifted(frame.kind, "WRONG_TIME", entry.market.instrument.symbol);
        } else if (frame.kind === "bbo") {
          const lateNs = this.#lateNs(entry, tier, time);
          this.#count(entry, "bbo", entry.applier.applyDecodedTouch(frame.bbo, tsRecvNs - lateNs));
        } else {
          const lateNs = this.#lateNs(entry, tier, time);
          this.#count(entry, "l2Book", entry.applier.applyDecodedBook(frame.book, tier, tsRecvNs, lateNs));
        }
        return;
      }
      case "trades":
        for (const trade of frame.trades) this.#trade(trade, tsRecvNs, linkId);
        return;
      case "context":
        this.#context(frame.coin, frame.context, tsRecvNs, linkId);
        return;
      case "malformed":
        this.#malformed(frame.channel, frame.subject, tier);
        return;
      case "error":
        this.#errorFrame(frame.text);
        return;
      case "unknown":
        this.#drifted(frame.channel, "UNKNOWN_KIND", "");
        return;
      default:
        // Pongs, acknowledgements, greetings, account frames: nothing to do on these sockets.
        return;
    }
  }

  #trade(wire: VenueoneWireTrade, tsRecvNs: number, linkId: number): void {
    const entry = this.#coins.get(wire.coin);
    if (entry === undefined) {
      this.#unknownCoin("trades", wire.coin);
      return;
    }
    entry.trades?.alive(tsRecvNs, linkId);
    const { clock, clockOffset } = this.#options;
    if (!isTradeTime(wire.time, clockOffset, clock.wallMs())) {
      this.#drifted("trades", "WRONG_TIME", entry.market.instrument.symbol);
      return;
    }
    if (!entry.isNewTrade(wire)) return;
    const { market } = entry;
    const trade = normalizeTrade(wire, market.instrument, tsRecvNs);
    if (trade === null) {
      this.#drifted("trades", "DRIFT", market.instrument.symbol);
      return;
    }
    applyLastTrade(market.ticker, wire, entry.hasMid, tsRecvNs);
    market.signal.traded(
      market,
      trade.side,
      trade.priceTicks,
      trade.qtyLots,
      trade.tradeId,
      trade.tsVenueMs,
      trade.tsRecvNs,
    );
  }

  #context(coin: string, wire: VenueoneWireContext, tsRecvNs: number, linkId: number): void {
    const entry = this.#coins.get(coin);
    if (entry === undefined) {
      this.#unknownCoin("activeAssetCtx", coin);
      return;
    }
    entry.context?.alive(tsRecvNs, linkId);
    entry.hasMid = wire.midPx !== null;
    applyContext(entry.market.ticker, wire, this.#venueNowMs(), tsRecvNs);
  }

  #venueNowMs(): number {
    return Math.round(this.#options.clock.wallMs() + this.#options.clockOffset.offsetMs);
  }

  /**
   * Depth that names its coin but can not be read puts that book in doubt. A frame that names none does not: each
   * frame is a whole book, so what was lost is freshness, and age judges that.
   */
  #malformed(channel: string, subject: string | null, tier: Tier): void {
    this.#decodeErrorCount++;
    logDropped(this.#options.logger, "venueone", channel, "MALFORMED", subject ?? "");
    const entry = subject === null ? undefined : this.#coins.get(subject);
    if (entry === undefined) return;
    if (channel === "l2Book") (tier === TIER_FAST ? entry.market.book : entry.market.deep)?.invalidate(INVALID_DECODE);
    else if (channel === "bbo") entry.market.touch.clear();
  }

  #errorFrame(text: string): void {
    this.#errorFrameCount++;
    if (this.#errorFrameCount > MAX_LOGGED_ERRORS) return;
    this.#options.logger.warn("venueone.error-frame", { text: text.slice(0, 200) });
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

/**
 * Market data of venuethree: which channels go over which connection, frames to their markets, and who is told what.
 * Only the shell: the decisions are in book-chain.ts (continuity), book-subscription.ts (repair), quiet-watch.ts and
 * shard.ts (silence), feeds/shared/socket.ts (connections).
 *
 * Invariant: a book is LIVE only on an unbroken chain from an open connection; a lost connection or a gap invalidates
 * it before anything is repaired, and only that book is repaired.
 *
 * Connections are not rotated: the venue states no life time, and 200 messages a minute would not carry the
 * subscriptions of a whole connection over to its successor while both run.
 */
import type { Clock, TimerHandle } from "../../engine/domain/clock.js";
import { parseScaled } from "../../engine/domain/decimal.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Random } from "../../engine/domain/random.js";
import { INVALID_DECODE, INVALID_PROBE_MISMATCH, INVALID_REFUSED } from "../../engine/market/book.js";
import type { Market } from "../../engine/market/market.js";
import type { ClockOffset } from "../shared/clock-offset.js";
import { type ConnectionBudget, MessagePacer } from "../shared/connection-budget.js";
import type { Connector } from "../shared/connector.js";
import type { SubscribeProtocol } from "../shared/link.js";
import { PersistentSocket } from "../shared/socket.js";
import type { ProbeResult } from "../shared/subscriptions.js";
import { CHAIN_APPLIED, CHAIN_EARLY, CHAIN_IGNORED } from "./book-chain.js";
import { BookSubscription } from "./book-subscription.js";
import { toRequested } from "./channel.js";
import { VenuethreeDecoder } from "./decode.js";
import { decodeSlowFrame } from "./decode-slow.js";
import { streamFault } from "./errors.js";
import {
  FRAME_DRIFT,
  FRAME_MALFORMED,
  FRAME_OTHER,
  FRAME_SNAPSHOT,
  FRAME_TICKER,
  FRAME_UPDATE,
  type FrameKind,
} from "./frame.js";
import {
  IDLE_SOCKET_MS,
  KEEPALIVE_EVERY_MS,
  MAX_BOOK_AGE_MS,
  MAX_SUBSCRIPTIONS_PER_SOCKET,
  MESSAGES_PER_SECOND,
} from "./limits.js";
import { MarketSlot } from "./market-slot.js";
import { inOrder } from "./normalize.js";
import { QuietWatch } from "./quiet-watch.js";
import type { VenuethreeRest } from "./rest.js";
import { Shard } from "./shard.js";
import {
  bookChannel,
  bookSpec,
  CHANNELS_PER_MARKET,
  heightSpec,
  STATS_CHANNEL,
  statsSpec,
  tickerSpec,
  tradeSpec,
} from "./stream-plan.js";
import type { VenuethreeSlowFrame, VenuethreeWireTrade } from "./wire.js";

export interface MarketStreamOptions {
  readonly wsUrl: string;
  readonly connector: Connector;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly rest: VenuethreeRest;
  readonly clockOffset: ClockOffset;
  readonly budget: ConnectionBudget;
  /** Client messages of the address, shared by all its connections. */
  readonly messages: MessagePacer;
}

const SWEEP_EVERY_MS = 250;
/** Height and statistics. */
const CHANNELS_PER_SOCKET = 2;
const MARKETS_PER_SOCKET = Math.floor((MAX_SUBSCRIPTIONS_PER_SOCKET - CHANNELS_PER_SOCKET) / CHANNELS_PER_MARKET);
/** Refused books on one connection from which, if they are half of it, the connection is taken for the culprit. */
const MASS_REFUSAL_MIN = 3;
/** Faults logged of each kind of trouble; more are only counted. */
const MAX_LOGGED_FAULTS = 50;

export interface MarketStreamStatus {
  readonly socketCount: number;
  readonly openSocketCount: number;
  readonly reconnectCount: number;
  readonly resyncCount: number;
  readonly gapCount: number;
  readonly decodeErrorCount: number;
  readonly protocolDriftCount: number;
}

/** What the stream keeps per market. */
interface Entry {
  readonly slot: MarketSlot;
  readonly subscription: BookSubscription;
  readonly shard: Shard;
}

export class MarketStream {
  readonly #options: MarketStreamOptions;
  readonly #decoder = new VenuethreeDecoder();
  readonly #watch: QuietWatch;
  readonly #protocol: SubscribeProtocol;
  /** By decoder slot; a hole where a market was removed. */
  readonly #entries: (Entry | undefined)[] = [];
  readonly #entryByBookChannel = new Map<string, Entry>();
  readonly #shards: Shard[] = [];
  #sweepTimer: TimerHandle | null = null;
  #isStopped = false;
  #slowMalformedCount = 0;
  #unknownCount = 0;
  #driftCount = 0;
  #faultCount = 0;
  /** Of removed markets, so that counters never fall. */
  #retired = { gapCount: 0, resyncCount: 0, brokenTouchCount: 0 };

  constructor(options: MarketStreamOptions) {
    this.#options = options;
    this.#watch = new QuietWatch({
      clock: options.clock,
      rest: options.rest,
      onDead: (slot) => this.#onDead(slot),
    });
    this.#protocol = {
      subscribe: (names) => this.#write("subscribe", names[0] ?? ""),
      unsubscribe: (names) => this.#write("unsubscribe", names[0] ?? ""),
      maxNamesPerFrame: 1,
    };
  }

  /** Streams listed markets. Books are asked for before the rest: a minute carries few messages, and routing needs books. */
  add(markets: readonly Market[]): void {
    const entries: Entry[] = [];
    for (const market of markets) {
      if (this.#isStopped || this.streams(market)) continue;
      const entry = this.#createEntry(market);
      entry.shard.socket.subscribe(bookSpec(entry.slot));
      entries.push(entry);
    }
    const [first] = this.#shards;
    first?.socket.subscribe(statsSpec(() => this.#probeStats()));
    for (const shard of this.#shards) shard.socket.subscribe(heightSpec());
    for (const { slot, shard } of entries) slot.touch = shard.socket.subscribe(tickerSpec(slot));
    for (const { slot, shard } of entries) shard.socket.subscribe(tradeSpec(slot));
    if (this.#sweepTimer === null && !this.#isStopped) this.#sweep();
  }

  streams(market: Market): boolean {
    return this.#entryOf(market.instrument.nativeId)?.slot.market === market;
  }

  /** Stops streaming a market (halted, listed anew under other terms): its book leaves LIVE. */
  remove(market: Market): void {
    const index = this.#decoder.markets.slotOf(market.instrument.nativeId);
    const entry = this.#entries[index];
    if (entry?.slot.market !== market) return;
    const { slot, subscription, shard } = entry;
    subscription.stop();
    for (const { name } of [bookSpec(slot), tickerSpec(slot), tradeSpec(slot)]) shard.socket.unsubscribe(name);
    shard.slots.delete(slot);
    this.#entries[index] = undefined;
    this.#entryByBookChannel.delete(bookChannel(slot.marketId));
    this.#retired.gapCount += slot.chain.gapCount;
    this.#retired.resyncCount += subscription.repairCount;
    this.#retired.brokenTouchCount += slot.brokenTouchCount;
    market.book.clear();
    market.touch.clear();
  }

  stop(): void {
    this.#isStopped = true;
    if (this.#sweepTimer !== null) this.#options.clock.clearTimer(this.#sweepTimer);
    for (const entry of this.#entries) entry?.subscription.stop();
    for (const { socket } of this.#shards) socket.stop();
    for (const entry of this.#entries) entry?.slot.onDown();
  }

  /** Has the statistics stream spoken of this market? Then an answer over REST is the older one. */
  hasStats(market: Market): boolean {
    const slot = this.#entryOf(market.instrument.nativeId)?.slot;
    return slot?.market === market && slot.hasStats;
  }

  status(): MarketStreamStatus {
    let reconnectCount = 0;
    let openSocketCount = 0;
    let handlerErrorCount = 0;
    for (const { socket } of this.#shards) {
      const stats = socket.stats();
      reconnectCount += stats.reconnectCount;
      handlerErrorCount += stats.handlerErrorCount;
      if (stats.state === "open") openSocketCount++;
    }
    let { gapCount, resyncCount, brokenTouchCount } = this.#retired;
    for (const entry of this.#entries) {
      if (entry === undefined) continue;
      gapCount += entry.slot.chain.gapCount;
      resyncCount += entry.subscription.repairCount;
      brokenTouchCount += entry.slot.brokenTouchCount;
    }
    const decoder = this.#decoder;
    return {
      socketCount: this.#shards.length,
      openSocketCount,
      reconnectCount,
      resyncCount,
      gapCount,
      decodeErrorCount: decoder.malformedCount + this.#slowMalformedCount + handlerErrorCount,
      protocolDriftCount:
        decoder.driftCount +
        decoder.foreignCount +
        this.#driftCount +
        this.#unknownCount +
        brokenTouchCount +
        this.#watch.wrongTouchCount,
    };
  }

  // ------------------------------------------------------------ layout

  #entryOf(marketId: number): Entry | undefined {
    return this.#entries[this.#decoder.markets.slotOf(marketId)];
  }

  #createEntry(market: Market): Entry {
    const { clock, random, logger } = this.#options;
    const { nativeId, priceDecimals, qtyDecimals, symbol } = market.instrument;
    const slot = new MarketSlot(market);
    const shard = this.#shardWithRoom();
    const spec = bookSpec(slot);
    const subscription = new BookSubscription({
      clock,
      random,
      leave: () => shard.socket.unsubscribe(spec.name),
      join: () => void shard.socket.subscribe(spec),
      isServed: () => slot.chain.isLive,
      onAttempt: () => slot.chain.beginSync(),
      onRefused: (attemptCount) => {
        logger.error("venuethree.book-refused", { symbol, attemptCount });
        slot.chain.invalidate(INVALID_REFUSED);
        slot.dropTouch();
        this.#judgeRefusals(shard);
      },
    });
    const entry: Entry = { slot, subscription, shard };
    this.#entries[this.#decoder.register(nativeId, priceDecimals, qtyDecimals)] = entry;
    this.#entryByBookChannel.set(spec.name, entry);
    shard.slots.add(slot);
    slot.chain.beginSync();
    return entry;
  }

  #shardWithRoom(): Shard {
    const known = this.#shards.find((shard) => shard.slots.size < MARKETS_PER_SOCKET);
    if (known !== undefined) return known;
    const { wsUrl, clock, random, logger, connector, budget, messages } = this.#options;
    const socket: PersistentSocket = new PersistentSocket({
      name: `venuethree.market.${this.#shards.length}`,
      url: wsUrl,
      clock,
      random,
      logger,
      connector,
      budget,
      // A WebSocket ping is a sign of life enough for the venue, and its answer one for us.
      heartbeat: { pingText: null, everyMs: KEEPALIVE_EVERY_MS, idleMs: IDLE_SOCKET_MS },
      protocol: this.#protocol,
      pacers: () => [messages, new MessagePacer(clock, MESSAGES_PER_SECOND, 1_000)],
      maxSubscriptions: MAX_SUBSCRIPTIONS_PER_SOCKET,
      handlers: {
        onFrame: (data, tsRecvNs, linkId) => this.#onFrame(shard, data, tsRecvNs, linkId),
        onDown: () => this.#onDown(shard),
        onSilent: (name) => this.#onSilent(name),
        onQuarantined: (name) => logger.error("venuethree.channel-quarantined", { name }),
      },
    });
    const shard = new Shard(socket);
    this.#shards.push(shard);
    socket.start();
    return shard;
  }

  #write(type: "subscribe" | "unsubscribe", name: string): string {
    this.#entryByBookChannel.get(name)?.subscription.written(type);
    return JSON.stringify({ type, channel: name });
  }

  #sweep(): void {
    const { clock } = this.#options;
    this.#sweepTimer = clock.setTimer(() => {
      const nowNs = clock.monoNs();
      for (const shard of this.#shards) {
        shard.sweep(nowNs);
        this.#watch.sweep(shard.slots, nowNs);
      }
      this.#sweep();
    }, SWEEP_EVERY_MS);
  }

  // ------------------------------------------------------------ frames

  #onFrame(shard: Shard, data: Buffer, tsRecvNs: number, linkId: number): void {
    const decoder = this.#decoder;
    const kind = decoder.decodeFrame(data, 0, data.length);
    if (kind === FRAME_OTHER) {
      this.#onSlowFrame(shard, decodeSlowFrame(data.toString("utf8")), tsRecvNs, linkId);
      return;
    }
    const frame = decoder.frame;
    const entry = this.#entries[frame.slot];
    if (entry === undefined) return;
    if (kind === FRAME_UPDATE || kind === FRAME_SNAPSHOT || kind === FRAME_TICKER) {
      const asOfNs = this.#asOfNs(frame.tsVenueMs, tsRecvNs);
      shard.heard(asOfNs);
      if (kind === FRAME_TICKER) entry.slot.onTicker(frame, asOfNs, linkId);
      else this.#onBook(entry, kind, asOfNs);
    } else if (kind === FRAME_DRIFT || kind === FRAME_MALFORMED) {
      this.#onFault(entry, kind);
    }
  }

  #onBook(entry: Entry, kind: FrameKind, asOfNs: number): void {
    const { slot, subscription } = entry;
    const result = slot.onBook(this.#decoder.frame, kind, asOfNs);
    if (result === CHAIN_APPLIED) {
      if (kind === FRAME_SNAPSHOT) subscription.served();
      return;
    }
    if (result === CHAIN_IGNORED) return;
    if (result === CHAIN_EARLY) subscription.early();
    else this.#recover(entry);
  }

  /** Figures that cannot be read: the book is in doubt, or only the ticker. */
  #onFault(entry: Entry, kind: FrameKind): void {
    const { slot } = entry;
    if (this.#decoder.frame.isTicker) {
      slot.dropTouch();
      return;
    }
    // Once per break: a fault that stays would otherwise log each frame.
    if (slot.chain.isLive) {
      const event = kind === FRAME_DRIFT ? "venuethree.protocol-drift" : "venuethree.book-malformed";
      this.#options.logger.error(event, { symbol: slot.market.instrument.symbol });
    }
    slot.chain.invalidate(INVALID_DECODE);
    if (!entry.subscription.isRefused) this.#recover(entry);
  }

  /** A frame held up on its way longer than a book may be old proves only what was true when it left. */
  #asOfNs(tsVenueMs: number, tsRecvNs: number): number {
    if (tsVenueMs === 0) return tsRecvNs;
    const { clock, clockOffset } = this.#options;
    const nowMs = clock.wallMs();
    clockOffset.addEvent(tsVenueMs, nowMs);
    const ageMs = clockOffset.provenAgeMs(tsVenueMs, nowMs);
    return ageMs > MAX_BOOK_AGE_MS ? tsRecvNs - ageMs * 1e6 : tsRecvNs;
  }

  #onSlowFrame(shard: Shard, frame: VenuethreeSlowFrame, tsRecvNs: number, linkId: number): void {
    switch (frame.kind) {
      case "trades":
        this.#slowMalformedCount += frame.brokenCount;
        shard.heard(tsRecvNs);
        this.#onTrades(frame.marketId, frame.trades, tsRecvNs);
        return;
      case "stats":
        this.#slowMalformedCount += frame.brokenCount;
        shard.heard(this.#asOfNs(frame.tsVenueMs, tsRecvNs));
        shard.socket.subscription(STATS_CHANNEL)?.alive(tsRecvNs, linkId);
        for (const row of frame.rows) {
          this.#entryOf(row.market_id)?.slot.onStats(row, frame.tsVenueMs || this.#venueNowMs(), tsRecvNs);
        }
        return;
      case "height":
        shard.heard(this.#asOfNs(frame.tsVenueMs, tsRecvNs));
        return;
      case "pong":
        shard.pong(linkId);
        return;
      case "ping":
        // Refused only while the send queue is full, of which the venue will hear otherwise.
        shard.socket.send('{"type":"pong"}');
        return;
      case "unsubscribed":
        this.#entryByBookChannel.get(toRequested(frame.channel))?.subscription.left();
        return;
      case "error":
        this.#onErrorFrame(frame.code, frame.channel);
        return;
      case "malformed":
        this.#slowMalformedCount++;
        return;
      case "unknown":
        this.#unknownCount++;
        return;
      default:
        // Greetings, and channels that nobody here asked for.
        return;
    }
  }

  #onTrades(marketId: number, trades: readonly VenuethreeWireTrade[], tsRecvNs: number): void {
    const slot = this.#entryOf(marketId)?.slot;
    if (slot === undefined) return;
    const { market } = slot;
    const { priceDecimals, qtyDecimals } = market.instrument;
    for (const trade of trades.length > 1 ? inOrder(trades) : trades) {
      if (!slot.isNewTrade(trade.trade_id)) continue;
      const priceTicks = parseScaled(trade.price, priceDecimals);
      const qtyLots = parseScaled(trade.size, qtyDecimals);
      if (!(priceTicks > 0) || !(qtyLots > 0)) {
        this.#driftCount++;
        continue;
      }
      const side = trade.is_maker_ask ? "BUY" : "SELL";
      market.signal.traded(market, side, priceTicks, qtyLots, trade.trade_id, trade.timestamp, tsRecvNs);
    }
  }

  /** Most errors name no channel: which subscription failed is told by its deadline. */
  #onErrorFrame(code: number, channel: string): void {
    const { logger, messages } = this.#options;
    if (this.#faultCount++ < MAX_LOGGED_FAULTS) logger.warn("venuethree.error-frame", { code });
    const entry = this.#entryByBookChannel.get(toRequested(channel));
    switch (streamFault(code)) {
      case "alreadySubscribed":
        entry?.subscription.refusedAsDouble();
        return;
      case "notSubscribed":
        entry?.subscription.left();
        return;
      case "tooManyMessages":
        // The venue counts more than we do: nothing is sent until our own minute has passed.
        while (messages.waitMs() === 0) messages.take();
        return;
      default:
        return;
    }
  }

  // ------------------------------------------------------------ recovery

  /** The book has been invalidated already. */
  #recover(entry: Entry): void {
    entry.slot.market.stats.breakSampling();
    entry.subscription.recover();
  }

  #onDead(slot: MarketSlot): void {
    const entry = this.#entryOf(slot.marketId);
    if (entry?.slot !== slot) return;
    this.#options.logger.warn("venuethree.book-dead", { symbol: slot.market.instrument.symbol });
    slot.chain.invalidate(INVALID_PROBE_MISMATCH);
    slot.dropTouch();
    this.#recover(entry);
  }

  #onDown(shard: Shard): void {
    shard.down();
    for (const entry of this.#entries) {
      if (entry?.shard !== shard) continue;
      entry.slot.onDown();
      entry.subscription.down();
    }
  }

  /** A ticker or the statistics: the socket asks for them anew. */
  #onSilent(name: string): void {
    const marketId = /^ticker\/(\d+)$/.exec(name)?.[1];
    if (marketId !== undefined) this.#entryOf(Number(marketId))?.slot.dropTouch();
  }

  /** Half of a connection's books refused is no matter of markets. */
  #judgeRefusals(shard: Shard): void {
    let refusedCount = 0;
    for (const entry of this.#entries) {
      if (entry?.shard === shard && entry.subscription.isRefused) refusedCount++;
    }
    if (refusedCount >= MASS_REFUSAL_MIN && refusedCount * 2 >= shard.slots.size) shard.socket.reconnect("refused");
  }

  /** Silent statistics: dead if the venue's last prices have moved on from ours. */
  async #probeStats(): Promise<ProbeResult> {
    const details = await this.#options.rest.orderBookDetails("background");
    if (details === null) return "unknown";
    for (const { stats } of details.markets) {
      const slot = this.#entryOf(stats.market_id)?.slot;
      if (slot === undefined || stats.last_trade_price === null) continue;
      const decimals = slot.market.instrument.priceDecimals;
      const before = parseScaled(slot.market.ticker.lastPrice, decimals);
      const now = parseScaled(stats.last_trade_price, decimals);
      if (!Number.isNaN(now) && before !== now) return "dead";
    }
    return "quiet";
  }

  #venueNowMs(): number {
    return Math.round(this.#options.clock.wallMs() + this.#options.clockOffset.offsetMs);
  }
}

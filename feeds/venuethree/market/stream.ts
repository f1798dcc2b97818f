/**
 * Market data of venuethree: which markets are streamed, and what is done about a book that breaks. Only the shell: the
 * sockets are connections.ts, frames go through frame-router.ts, the decisions are in market/sync.ts (continuity),
 * book-subscription.ts (repair), market/quiet-probe.ts and shard.ts (silence).
 *
 * Invariant: a book is LIVE only on an unbroken chain from an open connection; a lost connection or a gap invalidates
 * it before anything is repaired, and only that book is repaired.
 */
import { parseScaled } from "../../../engine/domain/decimal.js";
import { INVALID_PROBE_MISMATCH, INVALID_REFUSED } from "../../../engine/market/book.js";
import type { Market } from "../../../engine/market/market.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import { logResyncs } from "../../shared/book/resync-log.js";
import type { ProbeResult } from "../../shared/net/subscriptions.js";
import { BookSubscription } from "./book-subscription.js";
import { Connections, type ConnectionsOptions } from "./connections.js";
import { Entries, type Entry } from "./entries.js";
import { MarketSlot } from "./entry.js";
import { FrameRouter } from "./frame-router.js";
import { QuietWatch } from "./quiet-probe.js";
import type { VenuethreeRest } from "./rest.js";
import type { Shard } from "./shard.js";
import { bookSpec, statsSpec, tickerSpec, tradeSpec } from "./stream-plan.js";

export interface MarketStreamOptions extends ConnectionsOptions {
  readonly rest: VenuethreeRest;
  readonly clockOffset: ClockOffset;
}

/** Refused books on one connection from which, if they are half of it, the connection is taken for the culprit. */
const MASS_REFUSAL_MIN = 3;
export interface MarketStreamStatus {
  readonly socketCount: number;
  readonly openSocketCount: number;
  readonly reconnectCount: number;
  readonly resyncCount: number;
  readonly gapCount: number;
  readonly decodeErrorCount: number;
  readonly protocolDriftCount: number;
}

export class MarketStream {
  readonly #options: MarketStreamOptions;
  readonly #entries = new Entries();
  readonly #router: FrameRouter;
  readonly #watch: QuietWatch;
  readonly #connections: Connections;
  #isStopped = false;
  /** Of removed markets, so that counters never fall. */
  #retired = { gapCount: 0, resyncCount: 0, brokenTouchCount: 0 };

  constructor(options: MarketStreamOptions) {
    this.#options = options;
    const { clock, logger, clockOffset, messages } = options;
    this.#router = new FrameRouter({
      entries: this.#entries,
      clock,
      logger,
      clockOffset,
      messages,
      venueNowMs: () => Math.round(clock.wallMs() + clockOffset.offsetMs),
      recover: (entry) => this.#recover(entry),
    });
    this.#watch = new QuietWatch({
      clock,
      rest: options.rest,
      onDead: (slot) => this.#onDead(slot),
    });
    this.#connections = new Connections(options, {
      onFrame: (shard, data, tsRecvNs, linkId) => this.#router.onFrame(shard, data, tsRecvNs, linkId),
      onDown: (shard) => this.#onDown(shard),
      onSilent: (name) => this.#onSilent(name),
      onWritten: (type, name) => this.#entries.byBookChannel(name)?.subscription.written(type),
      onSwept: (shard, nowNs) => this.#watch.sweep(shard.slots, nowNs),
    });
  }

  /** Streams listed markets. After the height books are asked for before the rest: a minute carries few messages, and routing needs books. */
  add(markets: readonly Market[]): void {
    const entries: Entry[] = [];
    for (const market of markets) {
      if (this.#isStopped || this.streams(market)) continue;
      const entry = this.#createEntry(market);
      entry.slot.books = entry.shard.socket.subscribe(bookSpec(entry.slot));
      entries.push(entry);
    }
    this.#connections.first?.socket.subscribe(statsSpec(() => this.#probeStats()));
    for (const { slot, shard } of entries) slot.touch = shard.socket.subscribe(tickerSpec(slot));
    for (const { slot, shard } of entries) shard.socket.subscribe(tradeSpec(slot));
    if (!this.#isStopped) this.#connections.keepProving();
  }

  streams(market: Market): boolean {
    return this.#entries.byMarketId(market.instrument.nativeId)?.slot.market === market;
  }

  /** Stops streaming a market (halted, listed again under other terms): its book is no longer LIVE. */
  remove(market: Market): void {
    const entry = this.#entries.byMarketId(market.instrument.nativeId);
    if (entry?.slot.market !== market) return;
    const { slot, subscription, shard } = entry;
    subscription.stop();
    for (const { name } of [bookSpec(slot), tickerSpec(slot), tradeSpec(slot)]) shard.socket.unsubscribe(name);
    shard.slots.delete(slot);
    this.#entries.delete(slot.marketId);
    this.#retired.gapCount += slot.chain.gapCount;
    this.#retired.resyncCount += subscription.repairCount;
    this.#retired.brokenTouchCount += slot.brokenTouchCount;
    market.book.clear();
    market.touch.clear();
  }

  stop(): void {
    this.#isStopped = true;
    for (const { subscription } of this.#entries.all()) subscription.stop();
    this.#connections.stop();
    for (const { slot } of this.#entries.all()) slot.onDown();
  }

  /** Has the statistics stream spoken of this market? Then an answer over REST is the older one. */
  hasStats(market: Market): boolean {
    const slot = this.#entries.byMarketId(market.instrument.nativeId)?.slot;
    return slot?.market === market && slot.hasStats;
  }

  status(): MarketStreamStatus {
    const { socketCount, openCount, reconnectCount, handlerErrorCount } = this.#connections.socketCounts();
    let { gapCount, resyncCount, brokenTouchCount } = this.#retired;
    for (const { slot, subscription } of this.#entries.all()) {
      gapCount += slot.chain.gapCount;
      resyncCount += subscription.repairCount;
      brokenTouchCount += slot.brokenTouchCount;
    }
    const { decoder } = this.#entries;
    return {
      socketCount,
      openSocketCount: openCount,
      reconnectCount,
      resyncCount,
      gapCount,
      decodeErrorCount: decoder.malformedCount + this.#router.malformedCount + handlerErrorCount,
      protocolDriftCount:
        decoder.driftCount +
        decoder.foreignCount +
        this.#router.driftCount +
        this.#router.unknownCount +
        brokenTouchCount +
        this.#watch.wrongTouchCount,
    };
  }

  // ------------------------------------------------------------ layout

  #createEntry(market: Market): Entry {
    const { clock, random, logger } = this.#options;
    const { symbol } = market.instrument;
    const slot = new MarketSlot(market);
    logResyncs(logger, market);
    const shard = this.#connections.shardWithRoom();
    const spec = bookSpec(slot);
    const subscription = new BookSubscription({
      clock,
      random,
      leave: () => shard.socket.unsubscribe(spec.name),
      join: () => {
        slot.books = shard.socket.subscribe(spec);
      },
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
    this.#entries.set(entry);
    shard.slots.add(slot);
    slot.chain.beginSync();
    return entry;
  }

  // ------------------------------------------------------------ recovery

  /** The book has been invalidated already. */
  #recover(entry: Entry): void {
    entry.slot.market.stats.breakSampling();
    entry.subscription.recover();
  }

  #onDead(slot: MarketSlot): void {
    const entry = this.#entries.byMarketId(slot.marketId);
    if (entry?.slot !== slot) return;
    this.#options.logger.warn("venuethree.book-dead", { symbol: slot.market.instrument.symbol });
    slot.chain.invalidate(INVALID_PROBE_MISMATCH);
    slot.dropTouch();
    this.#recover(entry);
  }

  #onDown(shard: Shard): void {
    for (const entry of this.#entries.all()) {
      if (entry.shard !== shard) continue;
      entry.slot.onDown();
      entry.subscription.down();
    }
  }

  /** A ticker or the statistics: the socket asks for them again. */
  #onSilent(name: string): void {
    const marketId = /^ticker\/(\d+)$/.exec(name)?.[1];
    if (marketId !== undefined) this.#entries.byMarketId(Number(marketId))?.slot.dropTouch();
  }

  /** Half of a connection's books refused is no matter of markets. */
  #judgeRefusals(shard: Shard): void {
    let refusedCount = 0;
    for (const entry of this.#entries.all()) {
      if (entry.shard === shard && entry.subscription.isRefused) refusedCount++;
    }
    if (refusedCount >= MASS_REFUSAL_MIN && refusedCount * 2 >= shard.slots.size) shard.socket.reconnect("refused");
  }

  /** Silent statistics: dead if the venue's last prices have moved on from ours. */
  async #probeStats(): Promise<ProbeResult> {
    const details = await this.#options.rest.orderBookDetails("background");
    if (details === null) return "unknown";
    for (const { stats } of details.markets) {
      const slot = this.#entries.byMarketId(stats.market_id)?.slot;
      if (slot === undefined || stats.last_trade_price === null) continue;
      const decimals = slot.market.instrument.priceDecimals;
      const before = parseScaled(slot.market.ticker.lastPrice, decimals);
      const now = parseScaled(stats.last_trade_price, decimals);
      if (!Number.isNaN(now) && before !== now) return "dead";
    }
    return "quiet";
  }
}

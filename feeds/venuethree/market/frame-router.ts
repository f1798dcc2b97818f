// hot path (books and tickers; the other frames are rarer and allocate)
/**
 * Frames of a connection to the markets they are about. Each frame also proves its connection current (shard.ts). What
 * breaks a book invalidates it here, before the repair is asked for.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import { parseScaled } from "../../../engine/domain/decimal.js";
import type { Logger } from "../../../engine/domain/logger.js";
import { INVALID_DECODE } from "../../../engine/market/book.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import { type DropReason, logDropped } from "../../shared/net/dropped-frame.js";
import type { MessagePacer } from "../../shared/net/connection-budget.js";
import { isTradeTime } from "../../shared/book/stamps.js";
import { CHAIN_APPLIED, CHAIN_BROKEN, CHAIN_EARLY, CHAIN_IGNORED } from "./sync.js";
import { toRequested } from "./channel.js";
import { decodeSlowFrame } from "./decode-slow.js";
import type { Entries, Entry } from "./entries.js";
import { streamFault } from "../rules/errors.js";
import {
  FRAME_DRIFT,
  FRAME_MALFORMED,
  FRAME_OTHER,
  FRAME_SNAPSHOT,
  FRAME_TICKER,
  FRAME_UPDATE,
  type FrameKind,
} from "./frame.js";
import { MAX_BOOK_AGE_MS } from "../rules/limits.js";
import { inOrder } from "./normalize.js";
import type { Shard } from "./shard.js";
import { STATS_CHANNEL } from "./stream-plan.js";
import type { VenuethreeSlowFrame, VenuethreeWireTrade } from "./wire.js";

export interface FrameRouterOptions {
  readonly entries: Entries;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly clockOffset: ClockOffset;
  readonly messages: MessagePacer;
  readonly venueNowMs: () => number;
  /** The book has been invalidated already. */
  readonly recover: (entry: Entry) => void;
}

/** Error frames logged; more are only counted. */
const MAX_LOGGED_FAULTS = 50;

export class FrameRouter {
  readonly #options: FrameRouterOptions;
  readonly #entries: Entries;
  /** Slow frames, and rows of them, that cannot be read; those of the hot path are counted by the decoder. */
  malformedCount = 0;
  unknownCount = 0;
  /** Trades that the market's decimals cannot hold. */
  driftCount = 0;
  #faultCount = 0;

  constructor(options: FrameRouterOptions) {
    this.#options = options;
    this.#entries = options.entries;
  }

  onFrame(shard: Shard, data: Buffer, tsRecvNs: number, linkId: number): void {
    const { decoder } = this.#entries;
    const kind = decoder.decodeFrame(data, 0, data.length);
    if (kind === FRAME_OTHER) {
      this.#onSlowFrame(shard, decodeSlowFrame(data.toString("utf8")), tsRecvNs, linkId);
      return;
    }
    const frame = decoder.frame;
    const entry = this.#entries.bySlot(frame.slot);
    if (entry === undefined) {
      // Also what a channel that was just given up still sends.
      this.#dropped("", kind === FRAME_MALFORMED ? "MALFORMED" : "UNKNOWN_SYMBOL", "");
      return;
    }
    if (kind === FRAME_UPDATE || kind === FRAME_SNAPSHOT || kind === FRAME_TICKER) {
      const asOfNs = this.#asOfNs(frame.tsVenueMs, tsRecvNs);
      shard.noteFrame(asOfNs);
      if (kind === FRAME_TICKER) {
        if (!entry.slot.onTicker(frame, asOfNs, linkId))
          this.#dropped("ticker", "IMPOSSIBLE", entry.slot.market.instrument.symbol);
      } else this.#onBook(entry, kind, asOfNs, linkId);
    } else if (kind === FRAME_DRIFT || kind === FRAME_MALFORMED) {
      this.#onFault(entry, kind);
    }
  }

  #onBook(entry: Entry, kind: FrameKind, asOfNs: number, linkId: number): void {
    const { slot, subscription } = entry;
    const result = slot.onBook(this.#entries.decoder.frame, kind, asOfNs, linkId);
    if (result === CHAIN_APPLIED) {
      if (kind === FRAME_SNAPSHOT) subscription.served();
      return;
    }
    if (result === CHAIN_IGNORED) return;
    if (result === CHAIN_EARLY) {
      subscription.early();
      return;
    }
    if (result === CHAIN_BROKEN) this.#dropped("order_book", "IMPOSSIBLE", slot.market.instrument.symbol);
    this.#options.recover(entry);
  }

  #dropped(channel: string, reason: DropReason, symbol: string): void {
    logDropped(this.#options.logger, "venuethree", channel, reason, symbol);
  }

  /** Figures that cannot be read: the book is in doubt, or only the ticker. */
  #onFault(entry: Entry, kind: FrameKind): void {
    const { slot } = entry;
    const { isTicker } = this.#entries.decoder.frame;
    const reason = kind === FRAME_DRIFT ? "DRIFT" : "MALFORMED";
    this.#dropped(isTicker ? "ticker" : "order_book", reason, slot.market.instrument.symbol);
    if (isTicker) {
      slot.dropTouch();
      return;
    }
    // Once per break: a fault that stays would otherwise log each frame.
    if (slot.chain.isLive) {
      const event = kind === FRAME_DRIFT ? "venuethree.protocol-drift" : "venuethree.book-malformed";
      this.#options.logger.error(event, { symbol: slot.market.instrument.symbol });
    }
    slot.chain.invalidate(INVALID_DECODE);
    if (!entry.subscription.isRefused) this.#options.recover(entry);
  }

  /** A frame held up on its way longer than a book may be old proves only what was true when it left; one without a time nothing. */
  #asOfNs(tsVenueMs: number, tsRecvNs: number): number {
    const { clock, clockOffset } = this.#options;
    const nowMs = clock.wallMs();
    clockOffset.addEvent(tsVenueMs, nowMs);
    return tsRecvNs - clockOffset.lateMs(tsVenueMs, nowMs, MAX_BOOK_AGE_MS) * 1e6;
  }

  #onSlowFrame(shard: Shard, frame: VenuethreeSlowFrame, tsRecvNs: number, linkId: number): void {
    switch (frame.kind) {
      case "trades":
        this.#brokenRows("trade", frame.brokenCount);
        // What a subscription repeats is of any age, and an empty frame of none.
        if (!frame.isSnapshot && frame.trades.length > 0)
          shard.noteFrame(this.#asOfNs(newestMs(frame.trades), tsRecvNs));
        this.#onTrades(frame.marketId, frame.trades, tsRecvNs);
        return;
      case "stats":
        this.#brokenRows("market_stats", frame.brokenCount);
        shard.noteFrame(this.#asOfNs(frame.tsVenueMs, tsRecvNs));
        shard.socket.subscription(STATS_CHANNEL)?.alive(tsRecvNs, linkId);
        for (const row of frame.rows) {
          this.#entries
            .byMarketId(row.market_id)
            ?.slot.onStats(row, frame.tsVenueMs || this.#options.venueNowMs(), tsRecvNs);
        }
        return;
      case "height":
        shard.onHeight(tsRecvNs, linkId);
        shard.noteFrame(this.#asOfNs(frame.tsVenueMs, tsRecvNs));
        return;
      case "pong":
        shard.pong(linkId);
        return;
      case "ping":
        // Not sent only while the send queue is full; then the queued messages are the sign of life.
        shard.socket.send('{"type":"pong"}');
        return;
      case "unsubscribed":
        this.#entries.byBookChannel(toRequested(frame.channel))?.subscription.left();
        return;
      case "error":
        this.#onErrorFrame(frame.code, frame.channel);
        return;
      case "malformed":
        this.#brokenRows("", 1);
        return;
      case "unknown":
        this.unknownCount++;
        this.#dropped("", "UNKNOWN_KIND", "");
        return;
      default:
        // Greetings, and channels that were not asked for.
        return;
    }
  }

  #brokenRows(channel: string, count: number): void {
    this.malformedCount += count;
    if (count > 0) this.#dropped(channel, "MALFORMED", "");
  }

  #onTrades(marketId: number, trades: readonly VenuethreeWireTrade[], tsRecvNs: number): void {
    const slot = this.#entries.byMarketId(marketId)?.slot;
    if (slot === undefined) return;
    const { market } = slot;
    const { priceDecimals, qtyDecimals } = market.instrument;
    const { clock, clockOffset } = this.#options;
    const nowMs = clock.wallMs();
    for (const trade of trades.length > 1 ? inOrder(trades) : trades) {
      if (!isTradeTime(trade.timestamp, clockOffset, nowMs)) {
        this.driftCount++;
        this.#dropped("trade", "WRONG_TIME", market.instrument.symbol);
        continue;
      }
      if (!slot.isNewTrade(trade.trade_id)) continue;
      const priceTicks = parseScaled(trade.price, priceDecimals);
      const qtyLots = parseScaled(trade.size, qtyDecimals);
      if (!(priceTicks > 0) || !(qtyLots > 0)) {
        this.driftCount++;
        this.#dropped("trade", "DRIFT", market.instrument.symbol);
        continue;
      }
      const side = trade.is_maker_ask ? "BUY" : "SELL";
      market.signal.traded(market, side, priceTicks, qtyLots, trade.trade_id, trade.timestamp, tsRecvNs);
    }
  }

  /** Most errors name no channel: its deadline shows which subscription failed. */
  #onErrorFrame(code: number, channel: string): void {
    const { logger, messages } = this.#options;
    if (this.#faultCount++ < MAX_LOGGED_FAULTS) logger.warn("venuethree.error-frame", { code });
    const entry = this.#entries.byBookChannel(toRequested(channel));
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
}

function newestMs(trades: readonly VenuethreeWireTrade[]): number {
  let newest = 0;
  for (const { timestamp } of trades) if (timestamp > newest) newest = timestamp;
  return newest;
}

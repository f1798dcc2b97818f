// hot path (depth, touch and trades; the other frames are rarer and allocate)
/**
 * Frames of the market sockets to the markets they are about. Each frame also proves its stream alive (entry.ts). What
 * breaks a book invalidates it here, before its recovery is asked for (book-recovery.ts).
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import { INVALID_DECODE } from "../../../engine/market/book.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import { isTradeTime } from "../../shared/book/stamps.js";
import { type DropReason, logDropped } from "../../shared/net/dropped-frame.js";
import type { PersistentSocket } from "../../shared/net/socket.js";
import type { BookRecovery } from "./book-recovery.js";
import type { VenuetwoDecoder } from "./decode.js";
import { decodeSlowFrame, type SlowFrame } from "./decode-slow.js";
import type { MarketSlot } from "./entry.js";
import {
  FRAME_BOOK_TICKER,
  FRAME_DEPTH,
  FRAME_DRIFT,
  FRAME_FOREIGN,
  FRAME_MALFORMED,
  FRAME_OTHER,
  FRAME_TRADE,
  type VenuetwoFrame,
} from "./frame.js";
import { DIFF_BROKEN } from "./sync.js";
import { depthSymbolOf } from "./unreadable.js";

export interface FrameRouterOptions {
  readonly decoder: VenuetwoDecoder;
  /** By decoder slot; undefined where the market was removed. */
  readonly slots: readonly (MarketSlot | undefined)[];
  readonly recovery: Pick<BookRecovery, "afterDiff" | "drifted" | "recover">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly clockOffset: ClockOffset;
  /** A request was answered; `isTaken` false: it was refused. */
  readonly onAnswered: (id: number, isTaken: boolean) => void;
}

export class FrameRouter {
  readonly #options: FrameRouterOptions;
  readonly #decoder: VenuetwoDecoder;
  readonly #slots: readonly (MarketSlot | undefined)[];
  #slowMalformedCount = 0;
  #unknownCount = 0;
  #refusedCount = 0;
  #wrongTimeCount = 0;

  constructor(options: FrameRouterOptions) {
    this.#options = options;
    this.#decoder = options.decoder;
    this.#slots = options.slots;
  }

  get decodeErrorCount(): number {
    return this.#decoder.malformedCount + this.#slowMalformedCount;
  }

  get protocolDriftCount(): number {
    const { driftCount, foreignCount } = this.#decoder;
    return driftCount + foreignCount + this.#unknownCount + this.#refusedCount + this.#wrongTimeCount;
  }

  onFrame(data: Buffer, tsRecvNs: number, linkId: number, socket: PersistentSocket): void {
    const decoder = this.#decoder;
    const kind = decoder.decodeFrame(data, 0, data.length);
    if (kind === FRAME_OTHER) {
      for (const slow of decodeSlowFrame(data.toString("utf8"))) this.#onSlow(slow, data, tsRecvNs, linkId);
      return;
    }
    if (kind === FRAME_MALFORMED || kind === FRAME_FOREIGN) {
      this.#onUnreadable(data, kind === FRAME_FOREIGN ? "UNKNOWN_SYMBOL" : "MALFORMED");
      return;
    }
    const frame = decoder.frame;
    const slot = this.#slots[frame.slot];
    if (slot === undefined) {
      // A figure that no number holds, before the name was read.
      if (kind === FRAME_DRIFT && frame.slot < 0) this.#onUnreadable(data, "DRIFT");
      return;
    }
    if (kind === FRAME_DEPTH) this.#onDepth(slot, frame, tsRecvNs, linkId, linkId !== socket.primaryLinkId);
    else if (kind === FRAME_BOOK_TICKER) {
      const isTaken = slot.onTouch(frame, tsRecvNs, linkId, this.lateNs(slot, frame.tsEventMs));
      if (!isTaken) this.#dropped("bookTicker", "IMPOSSIBLE", slot.market.instrument.symbol);
    } else if (kind === FRAME_TRADE) this.#onTrade(slot, frame, tsRecvNs, linkId);
    else if (kind === FRAME_DRIFT) this.#onDrift(slot, frame.slot);
  }

  /** A frame held up on its way longer than a book may be old proves only what was true when it left. */
  lateNs({ market }: MarketSlot, tsEventMs: number): number {
    const { clock, clockOffset } = this.#options;
    const nowMs = clock.wallMs();
    clockOffset.addEvent(tsEventMs, nowMs);
    return clockOffset.lateMs(tsEventMs, nowMs, market.maxBookAgeMs) * 1e6;
  }

  #onDepth(slot: MarketSlot, frame: VenuetwoFrame, tsRecvNs: number, linkId: number, isStandby: boolean): void {
    const wasLive = slot.sync.isLive;
    const result = slot.onDiff(frame, tsRecvNs, linkId, isStandby, this.lateNs(slot, frame.tsEventMs));
    if (result === DIFF_BROKEN) this.#dropped("depth", "IMPOSSIBLE", slot.market.instrument.symbol);
    if (!wasLive) this.#options.recovery.afterDiff(frame.slot, slot);
  }

  #onTrade(slot: MarketSlot, frame: VenuetwoFrame, tsRecvNs: number, linkId: number): void {
    slot.trade?.alive(tsRecvNs, linkId);
    const { clock, clockOffset } = this.#options;
    if (!isTradeTime(frame.tsTransactionMs, clockOffset, clock.wallMs())) {
      this.#wrongTimeCount++;
      this.#dropped("trade", "WRONG_TIME", slot.market.instrument.symbol);
      return;
    }
    // The buyer made the price: the seller took it.
    slot.market.signal.traded(
      slot.market,
      frame.isBuyerMaker ? "SELL" : "BUY",
      frame.tradeTicks,
      frame.tradeLots,
      frame.tradeId,
      frame.tsTransactionMs,
      tsRecvNs,
    );
  }

  #onDrift(slot: MarketSlot, index: number): void {
    const { logger, recovery } = this.#options;
    const { symbol } = slot.market.instrument;
    // Once per break: a drift that stays would otherwise log each frame.
    if (slot.sync.isLive) logger.error("venuetwo.protocol-drift", { symbol });
    this.#dropped("", "DRIFT", symbol);
    slot.sync.invalidate(INVALID_DECODE);
    recovery.drifted(index);
  }

  #dropped(channel: string, reason: DropReason, symbol: string): void {
    logDropped(this.#options.logger, "venuetwo", channel, reason, symbol);
  }

  /** What the frame would have changed is not known: a chain that it was of is no longer the venue's book. */
  #onUnreadable(data: Buffer, reason: DropReason, channel = ""): void {
    const symbol = depthSymbolOf(data);
    const index = symbol === null ? -1 : this.#decoder.symbols.slotOf(symbol);
    const slot = this.#slots[index];
    this.#dropped(symbol === null ? channel : "depth", reason, slot?.market.instrument.symbol ?? symbol ?? "");
    if (slot === undefined) return;
    if (slot.sync.isLive) this.#options.logger.error("venuetwo.unreadable", { symbol: slot.market.instrument.symbol });
    slot.sync.lose(INVALID_DECODE);
    this.#options.recovery.recover(index);
  }

  /** For figures that are ordered by their time. */
  #latestMs(tsEventMs: number): number {
    const { clock, clockOffset } = this.#options;
    const nowMs = clock.wallMs();
    if (!clockOffset.isPlausible(tsEventMs, nowMs)) this.#wrongTimeCount++;
    return clockOffset.latestMs(nowMs);
  }

  #onSlow(slow: SlowFrame, data: Buffer, tsRecvNs: number, linkId: number): void {
    switch (slow.kind) {
      case "markPrice":
        this.#slotOf(slow.mark.s)?.onMarkPrice(slow.mark, tsRecvNs, linkId, this.#latestMs(slow.mark.E));
        break;
      case "ticker":
        this.#slotOf(slow.ticker.s)?.onTicker(slow.ticker, tsRecvNs, linkId, this.#latestMs(slow.ticker.E));
        break;
      case "acknowledged":
        this.#options.onAnswered(slow.id, true);
        break;
      case "refused":
        this.#refusedCount++;
        if (slow.id !== null) this.#options.onAnswered(slow.id, false);
        this.#options.logger.error("venuetwo.subscribe-refused", { code: slow.code });
        break;
      case "malformed":
        this.#slowMalformedCount++;
        this.#onUnreadable(data, "MALFORMED");
        break;
      case "unknown":
        this.#unknownCount++;
        this.#onUnreadable(data, "UNKNOWN_KIND", slow.event);
        break;
      case "ignored":
        break;
    }
  }

  #slotOf(nativeSymbol: string): MarketSlot | undefined {
    return this.#slots[this.#decoder.symbols.slotOf(nativeSymbol)];
  }
}

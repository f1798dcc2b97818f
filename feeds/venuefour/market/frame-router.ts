// hot path (books and touches; the other frames are rarer and allocate)
/**
 * Frames to the markets that they are about. What breaks a book invalidates it here; what is not taken is counted by its
 * reason.
 *
 * Invariant: a frame changes its book whole or not at all.
 */
import type { Logger } from "../../../engine/domain/logger.js";
import { INVALID_DECODE } from "../../../engine/market/book.js";
import type { Market } from "../../../engine/market/market.js";
import type { NameTable } from "../../shared/book/name-table.js";
import { barredBeforeMs } from "../../shared/book/stamps.js";
import { type DropReason, logDropped } from "../../shared/net/dropped-frame.js";
import { type Applied, DRIFT, OUTDATED, PROVEN, REFUSED } from "./applied.js";
import { decodeFrame, type VenuefourFrame } from "./decode.js";
import type { MarketEntry } from "./entry.js";
import type { FrameTimes } from "./frame-times.js";
import { applyLastTrade, normalizeTrade } from "./normalize.js";
import type { Prices } from "./prices.js";
import { DepthScanner, SCAN_BBO, SCAN_BOOK } from "./scan.js";
import type { StreamSlot } from "./stream-slot.js";
import type { VenuefourWirePrice, VenuefourWireTrade } from "./wire.js";

export interface FrameRouterOptions {
  readonly entries: NameTable<MarketEntry>;
  readonly times: FrameTimes;
  readonly prices: Prices;
  readonly logger: Logger;
  /** Any listed market by the venue's name, streamed or not: prices come for all. */
  readonly listed: (nativeSymbol: string) => Market | undefined;
  /** A frame of the prices channel came. */
  readonly onPrices: (tsRecvNs: number, linkId: number) => void;
  /** The venue answered a subscription. */
  readonly onEcho: (channel: string, symbol: string | null, tsRecvNs: number, linkId: number) => void;
}

/** Error frames logged; more are only counted. */
const MAX_LOGGED_ERRORS = 50;

export class FrameRouter {
  readonly #options: FrameRouterOptions;
  readonly #entries: NameTable<MarketEntry>;
  readonly #times: FrameTimes;
  readonly #scanner = new DepthScanner();
  decodeErrorCount = 0;
  driftCount = 0;
  /** Books refused by their own checks. */
  refusedCount = 0;
  /** Frames older than what was there. */
  outdatedCount = 0;
  /** Repeated books. */
  provenCount = 0;
  unknownSymbolCount = 0;
  errorFrameCount = 0;
  /** Depth frames that went the slow way. */
  slowDepthCount = 0;

  constructor(options: FrameRouterOptions) {
    this.#options = options;
    this.#entries = options.entries;
    this.#times = options.times;
  }

  onFrame(data: Buffer, tsRecvNs: number, linkId: number): void {
    const scanner = this.#scanner;
    const kind = scanner.scan(data);
    if (kind !== SCAN_BOOK && kind !== SCAN_BBO) {
      this.#slowFrame(decodeFrame(data), tsRecvNs, linkId);
      return;
    }
    const entry = this.#entries.find(data, scanner.symbolStart, scanner.symbolEnd);
    const channel = kind === SCAN_BOOK ? "book" : "bbo";
    if (entry === undefined) {
      this.#unknownSymbol(channel, "");
    } else if (!this.#isTimed(entry, kind === SCAN_BOOK ? entry.book : entry.touch, scanner.timeMs, tsRecvNs, linkId)) {
      this.#drifted(channel, "WRONG_TIME", entry.market.instrument.symbol);
    } else if (kind === SCAN_BOOK) {
      const lateNs = this.#times.bookLateNs(entry, scanner.timeMs, tsRecvNs);
      this.#count(entry, channel, entry.applier.applyBook(scanner, tsRecvNs, lateNs, linkId));
    } else {
      const lateNs = this.#times.measureLate(entry, scanner.timeMs, tsRecvNs);
      this.#count(entry, channel, entry.applier.touch.apply(scanner, tsRecvNs - lateNs));
    }
  }

  /** Spot rows come too, and rows of markets listed since the last refresh. */
  onPrice(wire: VenuefourWirePrice, tsRecvNs: number): void {
    const { listed, prices } = this.#options;
    const market = listed(wire.symbol);
    if (market === undefined) return;
    const applied = prices.apply(market, wire, tsRecvNs);
    if (applied === DRIFT) this.#drifted("prices", "WRONG_TIME", market.instrument.symbol);
    else if (applied === OUTDATED) this.outdatedCount++;
  }

  /** Also a frame that proves nothing shows that its stream is not dead. */
  #isTimed(entry: MarketEntry, slot: StreamSlot, timeMs: number, tsRecvNs: number, linkId: number): boolean {
    slot.alive(tsRecvNs, linkId);
    entry.applier.forgetBeyond(this.#times.latestMs());
    return this.#times.isPlausible(timeMs);
  }

  #count(entry: MarketEntry, channel: "book" | "bbo", applied: Applied): void {
    if (applied === PROVEN) this.provenCount++;
    else if (applied === OUTDATED) this.outdatedCount++;
    else if (applied === DRIFT) this.#drifted(channel, "DRIFT", entry.market.instrument.symbol);
    else if (applied === REFUSED) {
      this.refusedCount++;
      logDropped(this.#options.logger, "venuefour", channel, "IMPOSSIBLE", entry.market.instrument.symbol);
    }
  }

  #drifted(channel: string, reason: DropReason, symbol: string): void {
    this.driftCount++;
    logDropped(this.#options.logger, "venuefour", channel, reason, symbol);
  }

  #unknownSymbol(channel: string, symbol: string): void {
    this.unknownSymbolCount++;
    logDropped(this.#options.logger, "venuefour", channel, "UNKNOWN_SYMBOL", symbol);
  }

  /** Rows of a list that cannot be read; the others count. */
  #badRows(channel: "trades" | "prices", count: number): void {
    this.decodeErrorCount += count;
    if (count > 0) logDropped(this.#options.logger, "venuefour", channel, "MALFORMED", "");
  }

  #slowFrame(frame: VenuefourFrame, tsRecvNs: number, linkId: number): void {
    switch (frame.kind) {
      case "book":
      case "bbo":
        this.#slowDepth(frame, tsRecvNs, linkId);
        return;
      case "trades":
        this.#badRows("trades", frame.badCount);
        for (const trade of frame.trades) this.#trade(trade, tsRecvNs, linkId);
        return;
      case "prices":
        this.#badRows("prices", frame.badCount);
        this.#options.onPrices(tsRecvNs, linkId);
        for (const price of frame.prices) this.onPrice(price, tsRecvNs);
        return;
      case "subscribed":
        this.#options.onEcho(frame.source, frame.symbol, tsRecvNs, linkId);
        return;
      case "malformed":
        this.#malformed(frame.channel, frame.symbol);
        return;
      case "error":
        this.#errorFrame(frame.code, frame.text);
        return;
      case "unknown":
        this.#drifted(frame.channel, "UNKNOWN_KIND", "");
        return;
      default:
        // Pongs, and channels of other sockets: a sign of life, which the link has noted.
        return;
    }
  }

  #slowDepth(frame: Extract<VenuefourFrame, { kind: "book" | "bbo" }>, tsRecvNs: number, linkId: number): void {
    this.slowDepthCount++;
    const { s: symbol, t: timeMs } = frame.kind === "book" ? frame.book : frame.bbo;
    const entry = this.#entries.get(symbol);
    if (entry === undefined) {
      this.#unknownSymbol(frame.kind, symbol);
    } else if (!this.#isTimed(entry, frame.kind === "book" ? entry.book : entry.touch, timeMs, tsRecvNs, linkId)) {
      this.#drifted(frame.kind, "WRONG_TIME", entry.market.instrument.symbol);
    } else if (frame.kind === "book") {
      const lateNs = this.#times.bookLateNs(entry, timeMs, tsRecvNs);
      this.#count(entry, "book", entry.applier.applyDecodedBook(frame.book, tsRecvNs, lateNs, linkId));
    } else {
      const lateNs = this.#times.measureLate(entry, timeMs, tsRecvNs);
      this.#count(entry, "bbo", entry.applier.touch.applyDecoded(frame.bbo, tsRecvNs - lateNs));
    }
  }

  #trade(wire: VenuefourWireTrade, tsRecvNs: number, linkId: number): void {
    const entry = this.#entries.get(wire.s);
    if (entry === undefined) {
      this.#unknownSymbol("trades", wire.s);
      return;
    }
    entry.trades.alive(tsRecvNs, linkId);
    if (!this.#times.isTradeTime(wire.t)) {
      this.#drifted("trades", "WRONG_TIME", entry.market.instrument.symbol);
      return;
    }
    if (!entry.isNewTrade(wire.h)) return;
    const { market } = entry;
    const trade = normalizeTrade(wire, market.instrument);
    if (trade === null) {
      this.#drifted("trades", "DRIFT", market.instrument.symbol);
      return;
    }
    // Rows of one frame may come in either order.
    if (wire.t >= barredBeforeMs(entry.lastTradeMs, this.#times.latestMs())) {
      entry.lastTradeMs = wire.t;
      applyLastTrade(market.ticker, wire.p, wire.t, tsRecvNs);
    }
    market.signal.traded(market, trade.side, trade.priceTicks, trade.qtyLots, wire.h, wire.t, tsRecvNs);
  }

  /**
   * Depth that names its contract but can not be read puts that book in doubt. A frame that names none does not: each
   * frame is a whole book, so what was lost is freshness, and age judges that.
   */
  #malformed(channel: string, symbol: string | null): void {
    this.decodeErrorCount++;
    logDropped(this.#options.logger, "venuefour", channel, "MALFORMED", symbol ?? "");
    const entry = symbol === null ? undefined : this.#entries.get(symbol);
    if (entry === undefined) return;
    if (channel === "book") entry.market.book.invalidate(INVALID_DECODE);
    else if (channel === "bbo") entry.market.touch.clear();
  }

  #errorFrame(code: number, text: string): void {
    this.errorFrameCount++;
    if (this.errorFrameCount > MAX_LOGGED_ERRORS) return;
    this.#options.logger.warn("venuefour.error-frame", { code, text: text.slice(0, 200) });
  }
}

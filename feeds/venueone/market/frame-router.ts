// hot path (books and touches; the other frames are rarer and allocate)
/**
 * Frames of the market sockets to the coins they are about: books, touch, ticker and trades. Each frame also proves that
 * its stream is not dead.
 *
 * Invariant: a frame changes its book whole or not at all.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import { INVALID_DECODE } from "../../../engine/market/book.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import type { NameTable } from "../../shared/book/name-table.js";
import { isTradeTime } from "../../shared/book/stamps.js";
import { type DropReason, logDropped } from "../../shared/net/dropped-frame.js";
import { type Applied, DRIFT, REFUSED, TIER_FAST, type Tier } from "./apply.js";
import { decodeFrame, type VenueoneMarketFrame } from "./decode.js";
import type { CoinEntry } from "./entry.js";
import { applyContext, applyLastTrade, normalizeTrade } from "./normalize.js";
import { DepthScanner, SCAN_BBO, SCAN_BOOK, type ScanKind } from "./scan.js";
import type { VenueoneWireContext, VenueoneWireTrade } from "./wire.js";

/** Error frames logged; more are only counted. */
const MAX_LOGGED_ERRORS = 50;

export interface FrameRouterOptions {
  readonly coins: NameTable<CoinEntry>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly clockOffset: ClockOffset;
}

export interface FrameCounts {
  readonly decodeErrorCount: number;
  readonly protocolDriftCount: number;
  /** Books refused by their own checks. */
  readonly refusedCount: number;
  readonly unknownCoinCount: number;
  readonly errorFrameCount: number;
  /** Depth frames that went the slow way. */
  readonly slowDepthCount: number;
}

export class FrameRouter {
  readonly #options: FrameRouterOptions;
  readonly #coins: NameTable<CoinEntry>;
  readonly #scanner = new DepthScanner();
  #decodeErrorCount = 0;
  #driftCount = 0;
  #refusedCount = 0;
  #unknownCoinCount = 0;
  #errorFrameCount = 0;
  #slowDepthCount = 0;

  constructor(options: FrameRouterOptions) {
    this.#options = options;
    this.#coins = options.coins;
  }

  counts(): FrameCounts {
    return {
      decodeErrorCount: this.#decodeErrorCount,
      protocolDriftCount: this.#driftCount,
      refusedCount: this.#refusedCount,
      unknownCoinCount: this.#unknownCoinCount,
      errorFrameCount: this.#errorFrameCount,
      slowDepthCount: this.#slowDepthCount,
    };
  }

  /** `tier`: of the socket that it came over. */
  onFrame(tier: Tier, data: Buffer, tsRecvNs: number, linkId: number): void {
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
    // A frame that proves nothing still shows that its stream is not dead.
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
        this.#slowDepth(frame, frame.book, tier, tsRecvNs, linkId);
        return;
      case "bbo":
        this.#slowDepth(frame, frame.bbo, tier, tsRecvNs, linkId);
        return;
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

  #slowDepth(
    frame: Extract<VenueoneMarketFrame, { kind: "book" | "bbo" }>,
    { coin, time }: { readonly coin: string; readonly time: number },
    tier: Tier,
    tsRecvNs: number,
    linkId: number,
  ): void {
    this.#slowDepthCount++;
    const entry = this.#coins.get(coin);
    if (entry === undefined) {
      this.#unknownCoin(frame.kind, coin);
      return;
    }
    (frame.kind === "bbo" ? entry.touch : tier === TIER_FAST ? entry.fast : entry.deep)?.alive(tsRecvNs, linkId);
    if (!this.#isPlausible(time)) {
      this.#drifted(frame.kind, "WRONG_TIME", entry.market.instrument.symbol);
      return;
    }
    const lateNs = this.#lateNs(entry, tier, time);
    if (frame.kind === "bbo") this.#count(entry, "bbo", entry.applier.applyDecodedTouch(frame.bbo, tsRecvNs - lateNs));
    else this.#count(entry, "l2Book", entry.applier.applyDecodedBook(frame.book, tier, tsRecvNs, lateNs));
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
}

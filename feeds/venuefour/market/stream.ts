/**
 * Market data of this venue: the way of each frame into books, touch, ticker and trades. Connections and subscriptions
 * are connections.ts.
 *
 * Invariants: only names that the venue's own list holds are subscribed; a frame changes its book whole or not at all;
 * a lost connection or a dead stream takes the books concerned out of LIVE at once; a subscription that is refused in
 * silence costs its own market that stream, and no other market anything.
 */
import { INVALID_DECODE, LOST_SILENT } from "../../../engine/market/book.js";
import { ageMs } from "../../../engine/market/freshness.js";
import type { Market } from "../../../engine/market/market.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import { NameTable } from "../../shared/book/name-table.js";
import { logResyncs } from "../../shared/book/resync-log.js";
import { type DropReason, logDropped } from "../../shared/net/dropped-frame.js";
import type { SocketStats } from "../../shared/net/socket-options.js";
import { barredBeforeMs, isTradeTime } from "../../shared/book/stamps.js";
import { BookProbe } from "./quiet-probe.js";
import { Connections, type ConnectionsOptions } from "./connections.js";
import { decodeFrame, type VenuefourFrame } from "./decode.js";
import { DepthScanner, SCAN_BBO, SCAN_BOOK } from "./scan.js";
import { type Applied, DRIFT, OUTDATED, PROVEN, REFUSED } from "./apply.js";
import { MarketEntry } from "./entry.js";
import { applyLastTrade, applyPrice, normalizeTrade } from "./normalize.js";
import type { VenuefourRest } from "./rest.js";
import type { Shard } from "./shard.js";
import type { StreamSlot } from "./stream-slot.js";
import type { VenuefourWirePrice, VenuefourWireTrade } from "./wire.js";

/** Error frames logged; more are only counted. */
const MAX_LOGGED_ERRORS = 50;
export interface MarketStreamOptions extends ConnectionsOptions {
  readonly clockOffset: ClockOffset;
  readonly rest: VenuefourRest;
  /** Any listed market by the venue's name, streamed or not: prices come for all. */
  readonly listed: (nativeSymbol: string) => Market | undefined;
}

export interface MarketStreamStats {
  readonly sockets: readonly SocketStats[];
  readonly streamedCount: number;
  readonly decodeErrorCount: number;
  readonly protocolDriftCount: number;
  /** Books refused by their own checks. */
  readonly refusedCount: number;
  /** Frames older than what was there. */
  readonly outdatedCount: number;
  /** Repeated books. */
  readonly provenCount: number;
  readonly unknownSymbolCount: number;
  readonly errorFrameCount: number;
  /** Depth frames that went the slow way. */
  readonly slowDepthCount: number;
  /** Subscriptions that the venue left unanswered, ever. */
  readonly silentRefusalCount: number;
  /** Of these, the ones that are so now. */
  readonly refusedStreams: readonly string[];
  readonly probeCount: number;
}

export class MarketStream {
  readonly #options: MarketStreamOptions;
  readonly #entries = new NameTable<MarketEntry>();
  readonly #scanner = new DepthScanner();
  readonly #connections: Connections;
  readonly #probe: BookProbe;
  #prices: StreamSlot | null = null;
  /** Time of the newest price row by symbol, on the present connection. Bounded by the listed markets. */
  readonly #priceMs = new Map<string, number>();
  #isStopped = false;
  #decodeErrorCount = 0;
  #driftCount = 0;
  #refusedCount = 0;
  #outdatedCount = 0;
  #provenCount = 0;
  #unknownSymbolCount = 0;
  #errorFrameCount = 0;
  #slowDepthCount = 0;

  constructor(options: MarketStreamOptions) {
    this.#options = options;
    this.#connections = new Connections(options, {
      onFrame: (data, tsRecvNs, linkId) => this.#frame(data, tsRecvNs, linkId),
      onDown: (shard) => this.#down(shard),
      onSilent: (slot) => this.#silent(slot),
      onQuarantined: (slot) => this.#entryOf(slot)?.applier.reset(),
    });
    this.#probe = new BookProbe(options.rest, options.clock);
  }

  get isOpen(): boolean {
    return this.#connections.isOpen;
  }

  get streamedCount(): number {
    return this.#entries.size;
  }

  streams(nativeSymbol: string): boolean {
    return this.#entries.get(nativeSymbol) !== undefined;
  }

  stats(): MarketStreamStats {
    return {
      sockets: this.#connections.socketStats,
      streamedCount: this.#entries.size,
      decodeErrorCount: this.#decodeErrorCount,
      protocolDriftCount: this.#driftCount,
      refusedCount: this.#refusedCount,
      outdatedCount: this.#outdatedCount,
      provenCount: this.#provenCount,
      unknownSymbolCount: this.#unknownSymbolCount,
      errorFrameCount: this.#errorFrameCount,
      slowDepthCount: this.#slowDepthCount,
      silentRefusalCount: this.#connections.silentRefusalCount,
      refusedStreams: this.#connections.refusedStreams,
      probeCount: this.#probe.probeCount,
    };
  }

  /** Streams the prices of all contracts. Once. */
  start(): void {
    if (this.#isStopped || this.#prices !== null) return;
    this.#prices = this.#connections.openPrices();
  }

  /** Streams a listed market; false when it is streamed already or halted. */
  add(market: Market): boolean {
    const { nativeSymbol, status } = market.instrument;
    if (this.#isStopped || status !== "TRADING" || this.streams(nativeSymbol)) return false;
    const shard = this.#connections.shardWithRoom();
    const entry = new MarketEntry(market, shard, (probed) => this.#probe.probe(probed));
    shard.marketCount++;
    for (const slot of entry.slots) this.#connections.watch(shard, slot);
    this.#entries.set(nativeSymbol, entry);
    logResyncs(this.#options.logger, market);
    entry.applier.reset();
    return true;
  }

  /** Stops streaming a contract (delisted, re-specified): its book leaves LIVE. */
  remove(nativeSymbol: string): void {
    const entry = this.#entries.get(nativeSymbol);
    if (entry === undefined) return;
    this.#entries.delete(nativeSymbol);
    entry.shard.marketCount--;
    for (const slot of entry.slots) this.#connections.drop(entry.shard, slot);
    entry.market.book.clear();
    entry.market.touch.clear();
  }

  stop(): void {
    this.#isStopped = true;
    this.#connections.stop();
    for (const entry of this.#entries.values()) entry.applier.reset();
  }

  /** The price of the newest trade by REST, for a market that has streamed none yet. */
  seedLastPrice(nativeSymbol: string, price: string, tsVenueMs: number): void {
    const entry = this.#entries.get(nativeSymbol);
    if (entry === undefined || entry.lastTradeMs > 0 || !this.#isPlausible(tsVenueMs)) return;
    entry.lastTradeMs = tsVenueMs;
    applyLastTrade(entry.market.ticker, price, tsVenueMs, this.#options.clock.monoNs());
  }

  /** A row of the prices channel, or of its REST twin. Older rows than the newest change nothing. */
  applyPrice(wire: VenuefourWirePrice, tsRecvNs: number): void {
    const market = this.#options.listed(wire.symbol);
    // Spot rows come too, and markets listed since the last refresh.
    if (market === undefined) return;
    if (!this.#isPlausible(wire.timestamp)) {
      this.#drifted("prices", "WRONG_TIME", market.instrument.symbol);
      return;
    }
    if (wire.timestamp < barredBeforeMs(this.#priceMs.get(wire.symbol) ?? 0, this.#latestMs())) {
      this.#outdatedCount++;
      return;
    }
    this.#priceMs.set(wire.symbol, wire.timestamp);
    const hasTrade = (this.#entries.get(wire.symbol)?.lastTradeMs ?? 0) > 0;
    applyPrice(market.ticker, wire, hasTrade, this.#venueNowMs(), tsRecvNs);
  }

  // ------------------------------------------------------------ losses

  #down(shard: Shard): void {
    if (this.#connections.isPrices(shard)) this.#priceMs.clear();
    for (const entry of this.#entries.values()) if (entry.shard === shard) entry.applier.reset();
  }

  #silent(slot: StreamSlot): void {
    const entry = this.#entryOf(slot);
    if (entry === undefined) return;
    const { book, maxBookAgeMs, touch } = entry.market;
    if (slot === entry.touch) touch.clear();
    // What the probe has just read stands until it is too old.
    else if (slot === entry.book && ageMs(book.tsProvenNs, this.#options.clock.monoNs()) > maxBookAgeMs)
      book.beginSync(LOST_SILENT);
  }

  #entryOf(slot: StreamSlot): MarketEntry | undefined {
    return slot.symbol === null ? undefined : this.#entries.get(slot.symbol);
  }

  // ------------------------------------------------------------ frames

  #frame(data: Buffer, tsRecvNs: number, linkId: number): void {
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
      const lateNs = this.#bookLateNs(entry, scanner.timeMs, tsRecvNs);
      this.#count(entry, channel, entry.applier.applyBook(scanner, tsRecvNs, lateNs, linkId));
    } else {
      const lateNs = this.#measureLate(entry, scanner.timeMs, tsRecvNs);
      this.#count(entry, channel, entry.applier.applyTouch(scanner, tsRecvNs - lateNs));
    }
  }

  /** Also a frame that proves nothing tells that its stream is not dead. */
  #isTimed(entry: MarketEntry, slot: StreamSlot, timeMs: number, tsRecvNs: number, linkId: number): boolean {
    slot.alive(tsRecvNs, linkId);
    entry.applier.forgetBeyond(this.#latestMs());
    return this.#isPlausible(timeMs);
  }

  /**
   * `t` is the time of the change, so an old one is normal for a book that is repeated, or the first of a connection.
   * News of a book in hand comes within one beat of the timer: if it is older than a book may be, it was held up.
   */
  #bookLateNs(entry: MarketEntry, timeMs: number, tsRecvNs: number): number {
    if (entry.applier.isNews(timeMs)) return this.#measureLate(entry, timeMs, tsRecvNs);
    return entry.shard.lateNs(tsRecvNs);
  }

  /** A frame held up on its way longer than a book may be old proves only what was true when it left. */
  #measureLate(entry: MarketEntry, timeMs: number, tsRecvNs: number): number {
    const { clock, clockOffset } = this.#options;
    const lateNs = clockOffset.lateMs(timeMs, clock.wallMs(), entry.market.maxBookAgeMs) * 1e6;
    entry.shard.measured(lateNs, tsRecvNs);
    return lateNs;
  }

  /** Not from the far future; and then it says how far the venue's clock is ahead at least. */
  #isPlausible(timeMs: number): boolean {
    const { clock, clockOffset } = this.#options;
    const nowMs = clock.wallMs();
    if (!clockOffset.isPlausible(timeMs, nowMs)) return false;
    clockOffset.addEvent(timeMs, nowMs);
    return true;
  }

  #latestMs(): number {
    const { clock, clockOffset } = this.#options;
    return clockOffset.latestMs(clock.wallMs());
  }

  #venueNowMs(): number {
    return Math.round(this.#options.clock.wallMs() + this.#options.clockOffset.offsetMs);
  }

  #count(entry: MarketEntry, channel: "book" | "bbo", applied: Applied): void {
    if (applied === PROVEN) this.#provenCount++;
    else if (applied === OUTDATED) this.#outdatedCount++;
    else if (applied === DRIFT) this.#drifted(channel, "DRIFT", entry.market.instrument.symbol);
    else if (applied === REFUSED) {
      this.#refusedCount++;
      logDropped(this.#options.logger, "venuefour", channel, "IMPOSSIBLE", entry.market.instrument.symbol);
    }
  }

  #drifted(channel: string, reason: DropReason, symbol: string): void {
    this.#driftCount++;
    logDropped(this.#options.logger, "venuefour", channel, reason, symbol);
  }

  #unknownSymbol(channel: string, symbol: string): void {
    this.#unknownSymbolCount++;
    logDropped(this.#options.logger, "venuefour", channel, "UNKNOWN_SYMBOL", symbol);
  }

  /** Rows of a list that cannot be read; the others count. */
  #badRows(channel: "trades" | "prices", count: number): void {
    this.#decodeErrorCount += count;
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
        this.#prices?.alive(tsRecvNs, linkId);
        for (const price of frame.prices) this.applyPrice(price, tsRecvNs);
        return;
      case "subscribed":
        this.#connections.echoed(frame.source, frame.symbol, tsRecvNs, linkId);
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
    this.#slowDepthCount++;
    const { s: symbol, t: timeMs } = frame.kind === "book" ? frame.book : frame.bbo;
    const entry = this.#entries.get(symbol);
    if (entry === undefined) {
      this.#unknownSymbol(frame.kind, symbol);
    } else if (!this.#isTimed(entry, frame.kind === "book" ? entry.book : entry.touch, timeMs, tsRecvNs, linkId)) {
      this.#drifted(frame.kind, "WRONG_TIME", entry.market.instrument.symbol);
    } else if (frame.kind === "book") {
      const lateNs = this.#bookLateNs(entry, timeMs, tsRecvNs);
      this.#count(entry, "book", entry.applier.applyDecodedBook(frame.book, tsRecvNs, lateNs, linkId));
    } else {
      const lateNs = this.#measureLate(entry, timeMs, tsRecvNs);
      this.#count(entry, "bbo", entry.applier.applyDecodedTouch(frame.bbo, tsRecvNs - lateNs));
    }
  }

  #trade(wire: VenuefourWireTrade, tsRecvNs: number, linkId: number): void {
    const entry = this.#entries.get(wire.s);
    if (entry === undefined) {
      this.#unknownSymbol("trades", wire.s);
      return;
    }
    entry.trades.alive(tsRecvNs, linkId);
    const { clock, clockOffset } = this.#options;
    if (!isTradeTime(wire.t, clockOffset, clock.wallMs())) {
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
    if (wire.t >= barredBeforeMs(entry.lastTradeMs, this.#latestMs())) {
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
    this.#decodeErrorCount++;
    logDropped(this.#options.logger, "venuefour", channel, "MALFORMED", symbol ?? "");
    const entry = symbol === null ? undefined : this.#entries.get(symbol);
    if (entry === undefined) return;
    if (channel === "book") entry.market.book.invalidate(INVALID_DECODE);
    else if (channel === "bbo") entry.market.touch.clear();
  }

  #errorFrame(code: number, text: string): void {
    this.#errorFrameCount++;
    if (this.#errorFrameCount > MAX_LOGGED_ERRORS) return;
    this.#options.logger.warn("venuefour.error-frame", { code, text: text.slice(0, 200) });
  }
}

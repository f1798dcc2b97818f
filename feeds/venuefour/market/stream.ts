/**
 * Market data of this venue: which markets are streamed, and what a lost connection or a dead stream does to them.
 * Frames go through frame-router.ts; connections and subscriptions are connections.ts.
 *
 * Invariants: only names that the venue's own list holds are subscribed; a lost connection or a dead stream takes the
 * books concerned out of LIVE at once; a subscription that is refused in silence costs its own market that stream, and
 * no other market anything.
 */
import { LOST_SILENT } from "../../../engine/market/book.js";
import { ageMs } from "../../../engine/market/freshness.js";
import type { Market } from "../../../engine/market/market.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import { NameTable } from "../../shared/book/name-table.js";
import { logResyncs } from "../../shared/book/resync-log.js";
import type { SocketStats } from "../../shared/net/socket-options.js";
import { BookProbe } from "./quiet-probe.js";
import { Connections, type ConnectionsOptions } from "./connections.js";
import { MarketEntry } from "./entry.js";
import { FrameRouter } from "./frame-router.js";
import { FrameTimes } from "./frame-times.js";
import { applyLastTrade } from "./normalize.js";
import { Prices } from "./prices.js";
import type { VenuefourRest } from "./rest.js";
import type { Shard } from "./shard.js";
import type { StreamSlot } from "./stream-slot.js";
import type { VenuefourWirePrice } from "./wire.js";

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
  readonly #times: FrameTimes;
  readonly #prices: Prices;
  readonly #router: FrameRouter;
  readonly #connections: Connections;
  readonly #probe: BookProbe;
  #pricesSlot: StreamSlot | null = null;
  #isStopped = false;

  constructor(options: MarketStreamOptions) {
    this.#options = options;
    const { clock, clockOffset, listed, logger, rest } = options;
    this.#times = new FrameTimes(clock, clockOffset);
    this.#prices = new Prices(this.#entries, this.#times);
    this.#router = new FrameRouter({
      ...{ entries: this.#entries, times: this.#times, prices: this.#prices, logger, listed },
      onPrices: (tsRecvNs, linkId) => this.#pricesSlot?.alive(tsRecvNs, linkId),
      onEcho: (channel, symbol, tsRecvNs, linkId) => this.#connections.echoed(channel, symbol, tsRecvNs, linkId),
    });
    this.#connections = new Connections(options, {
      onFrame: (data, tsRecvNs, linkId) => this.#router.onFrame(data, tsRecvNs, linkId),
      onDown: (shard) => this.#down(shard),
      onSilent: (slot) => this.#silent(slot),
      onQuarantined: (slot) => this.#entryOf(slot)?.applier.reset(),
    });
    this.#probe = new BookProbe(rest, clock);
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
    const router = this.#router;
    return {
      sockets: this.#connections.socketStats,
      streamedCount: this.#entries.size,
      decodeErrorCount: router.decodeErrorCount,
      protocolDriftCount: router.driftCount,
      refusedCount: router.refusedCount,
      outdatedCount: router.outdatedCount,
      provenCount: router.provenCount,
      unknownSymbolCount: router.unknownSymbolCount,
      errorFrameCount: router.errorFrameCount,
      slowDepthCount: router.slowDepthCount,
      silentRefusalCount: this.#connections.silentRefusalCount,
      refusedStreams: this.#connections.refusedStreams,
      probeCount: this.#probe.probeCount,
    };
  }

  /** Streams the prices of all contracts. Once. */
  start(): void {
    if (this.#isStopped || this.#pricesSlot !== null) return;
    this.#pricesSlot = this.#connections.openPrices();
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

  /** Stops streaming a contract (delisted, re-specified): its book is no longer LIVE. */
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
    if (entry === undefined || entry.lastTradeMs > 0 || !this.#times.isPlausible(tsVenueMs)) return;
    entry.lastTradeMs = tsVenueMs;
    applyLastTrade(entry.market.ticker, price, tsVenueMs, this.#options.clock.monoNs());
  }

  /** A row of the prices channel, or of its REST twin. Older rows than the newest change nothing. */
  applyPrice(wire: VenuefourWirePrice, tsRecvNs: number): void {
    this.#router.onPrice(wire, tsRecvNs);
  }

  // ------------------------------------------------------------ losses

  #down(shard: Shard): void {
    if (this.#connections.isPrices(shard)) this.#prices.reset();
    for (const entry of this.#entries.values()) if (entry.shard === shard) entry.applier.reset();
  }

  #silent(slot: StreamSlot): void {
    const entry = this.#entryOf(slot);
    if (entry === undefined) return;
    const { book, maxBookAgeMs, touch } = entry.market;
    if (slot === entry.touch) touch.clear();
    // What the probe has just read counts until it is too old.
    else if (slot === entry.book && ageMs(book.tsProvenNs, this.#options.clock.monoNs()) > maxBookAgeMs)
      book.beginSync(LOST_SILENT);
  }

  #entryOf(slot: StreamSlot): MarketEntry | undefined {
    return slot.symbol === null ? undefined : this.#entries.get(slot.symbol);
  }
}

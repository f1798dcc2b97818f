/**
 * Market data sockets of venuetwo: which streams go over which connection, frames to their markets,
 * and the recovery of a book that lost its chain. Only the shell: the decisions are in market/sync.ts
 * (chain), quiet-probe.ts (silence), feeds/shared/net/socket.ts (connections).
 *
 * Invariant: a book is LIVE only on a chain of diffs from an open connection; a lost connection or a
 * gap invalidates it before anything is repaired, and only that book is repaired.
 */
import { type Clock, delay } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { Random } from "../../../engine/domain/random.js";
import {
  BOOK_LIVE,
  INVALID_DECODE,
  INVALID_DISCONNECTED,
  INVALID_PROBE_MISMATCH,
} from "../../../engine/market/book.js";
import type { Market } from "../../../engine/market/market.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import { logResyncs } from "../../shared/book/resync-log.js";
import { type ConnectionBudget, MessagePacer } from "../../shared/net/connection-budget.js";
import type { Connector } from "../../shared/net/connector.js";
import { type DropReason, logDropped } from "../../shared/net/dropped-frame.js";
import type { VenueHttp } from "../../shared/net/http.js";
import type { SubscribeProtocol } from "../../shared/net/paced-writer.js";
import { LoadRefused, Resync } from "../../shared/book/resync.js";
import { PersistentSocket } from "../../shared/net/socket.js";
import { countSockets } from "../../shared/net/socket-counts.js";
import { isTradeTime } from "../../shared/book/stamps.js";
import { BookSync, DIFF_BROKEN } from "./sync.js";
import { VenuetwoDecoder } from "./decode.js";
import { decodeSlowFrame } from "./decode-slow.js";
import { DriftPause } from "./drift-pause.js";
import {
  FRAME_BOOK_TICKER,
  FRAME_DEPTH,
  FRAME_DRIFT,
  FRAME_FOREIGN,
  FRAME_MALFORMED,
  FRAME_OTHER,
  FRAME_TRADE,
} from "./frame.js";
import {
  IDLE_SOCKET_MS,
  MAX_MESSAGES_PER_SECOND,
  MAX_STREAMS_PER_SOCKET,
  ROTATE_AFTER_MS,
  SHALLOW_FROM_MARKETS,
  STREAMS_PER_SUBSCRIBE,
} from "../rules/limits.js";
import { MarketSlot } from "./entry.js";
import { QuietProbe } from "./quiet-probe.js";
import { ShallowTier } from "./shallow-tier.js";
import { type Snapshot, type SnapshotAnswer, SnapshotQueue } from "./snapshot-queue.js";
import { depthStreamName, type StreamGroup, type StreamHostLayout, streamGroups } from "./stream-plan.js";
import { depthSymbolOf } from "./unreadable.js";

export interface MarketStreamOptions {
  readonly wsUrl: string;
  readonly layout: StreamHostLayout;
  readonly connector: Connector;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly http: VenueHttp;
  readonly clockOffset: ClockOffset;
  readonly budget: ConnectionBudget;
  /** From so many markets on their best levels are streamed first (default SHALLOW_FROM_MARKETS). */
  readonly shallowFromMarkets?: number;
  /** Positions known to be open in the market, besides its readers: its snapshot comes first. */
  readonly positionsOf?: (market: Market) => number;
  /** Figures came that the listed grid cannot hold: the list may have changed. */
  readonly onDrift?: () => void;
}

/** Connects that the others leave to the best levels, so that these come back at once whatever the others have taken. */
const CONNECTS_KEPT = 2;
/** A snapshot that no diff covers is confirmed by a second one after this. */
const CONFIRM_AFTER_MS = 1_000;
const RESYNC_BACKOFF = { baseMs: 250, capMs: 5_000 } as const;
/** Failed tries after which the diff stream itself is doubted and subscribed again. */
const ESCALATE_AFTER = 6;
/** Requests whose answer is awaited; a connection that dies leaves some behind, the oldest are dropped. */
const MAX_OPEN_REQUESTS = 256;

const PING_EVERY_MS = 15_000;

/** One connection and the markets whose streams it carries. */
interface Shard {
  readonly group: StreamGroup;
  readonly socket: PersistentSocket;
  readonly slots: MarketSlot[];
}

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
  readonly #decoder = new VenuetwoDecoder();
  readonly #probe: QuietProbe;
  readonly #protocol: SubscribeProtocol;
  /** By decoder slot; undefined where the market was removed. */
  readonly #slots: (MarketSlot | undefined)[] = [];
  readonly #resyncs: Resync<never, Snapshot>[] = [];
  readonly #shards: Shard[] = [];
  /** Names by request id, so that an acknowledgement starts the books it is about. */
  readonly #requests = new Map<number, readonly string[]>();
  readonly #slotByDepthName = new Map<string, number>();
  readonly #groups: readonly StreamGroup[];
  readonly #snapshots: SnapshotQueue;
  readonly #shallow: ShallowTier;
  readonly #drift: DriftPause;
  /** Of removed markets, so that counters never fall. */
  #retired = { gapCount: 0, resyncCount: 0, brokenTouchCount: 0 };
  #isStarted = false;
  #nextRequestId = 1;
  #slowMalformedCount = 0;
  #unknownCount = 0;
  #refusedCount = 0;
  #wrongTimeCount = 0;
  tradeCount = 0;

  constructor(options: MarketStreamOptions, markets: readonly Market[]) {
    this.#options = options;
    this.#probe = new QuietProbe(options.http, options.clock, this.#slots);
    const { clock, http, positionsOf = () => 0 } = options;
    this.#snapshots = new SnapshotQueue({
      clock,
      http,
      needOf: ({ market }) => positionsOf(market) + market.signal.listenerCount,
    });
    this.#drift = new DriftPause(options.clock);
    this.#protocol = {
      subscribe: (names) => this.#request("SUBSCRIBE", names),
      unsubscribe: (names) => this.#request("UNSUBSCRIBE", names),
      maxNamesPerFrame: STREAMS_PER_SUBSCRIBE,
    };
    this.#groups = streamGroups(options.wsUrl, options.layout, this.#probe);
    this.#shallow = new ShallowTier({
      ...options,
      url: (this.#groups.find(({ hasDepth }) => hasDepth) as StreamGroup).url,
      decoder: this.#decoder,
      probe: this.#probe,
      snapshots: this.#snapshots,
      lateNs: (slot, tsEventMs) => this.#lateNs(slot, tsEventMs),
    });
    this.add(markets);
  }

  /** Streams those that are not streamed yet; their streams go where there is room. */
  add(markets: readonly Market[]): void {
    const { shallowFromMarkets = SHALLOW_FROM_MARKETS } = this.#options;
    const streamed = new Set(this.slots.map(({ market }) => market));
    const added = markets.filter((market) => !streamed.has(market));
    if (added.length === 0) return;
    for (const market of added) {
      const slot = this.#addSlot(market);
      for (const group of this.#groups) this.#place(slot, group);
    }
    const isMany = this.#shallow.hasMarkets || this.slots.length >= shallowFromMarkets;
    // Those that came while they were few are among them.
    if (isMany) this.#slots.forEach((slot, index) => void (slot !== undefined && this.#shallow.add(index, slot)));
  }

  get slots(): readonly MarketSlot[] {
    return this.#slots.filter((slot) => slot !== undefined);
  }

  /** Stops streaming a market (halted, listed again on another scale): its book leaves LIVE. */
  remove(market: Market): void {
    const index = this.#slots.findIndex((slot) => slot?.market === market);
    const slot = this.#slots[index];
    const resync = this.#resyncs[index];
    if (slot === undefined || resync === undefined) return;
    this.#slots[index] = undefined;
    this.#slotByDepthName.delete(depthStreamName(slot));
    this.#drift.forget(index);
    resync.cancel();
    this.#snapshots.drop(slot, "whole");
    this.#shallow.remove(index);
    for (const { group, socket, slots } of this.#shards) {
      const at = slots.indexOf(slot);
      if (at < 0) continue;
      slots.splice(at, 1);
      for (const { spec } of group.specsOf(slot)) socket.unsubscribe(spec.name);
    }
    this.#retired.gapCount += slot.sync.gapCount;
    this.#retired.resyncCount += resync.startCount;
    this.#retired.brokenTouchCount += slot.brokenTouchCount;
    slot.onDown(INVALID_DISCONNECTED);
    market.book.clear();
  }

  start(): void {
    this.#isStarted = true;
    this.#shallow.start();
    for (const { socket } of this.#shards) socket.start();
  }

  stop(): void {
    for (const resync of this.#resyncs) resync.cancel();
    this.#snapshots.stop();
    this.#shallow.stop();
    for (const { socket } of this.#shards) socket.stop();
    for (const slot of this.slots) {
      slot.sync.loseShallow(INVALID_DISCONNECTED);
      slot.onDown(INVALID_DISCONNECTED);
    }
  }

  status(): MarketStreamStatus {
    const sockets = [...this.#shallow.sockets, ...this.#shards.map(({ socket }) => socket)];
    const { socketCount, openCount, reconnectCount, handlerErrorCount } = countSockets(
      sockets.map((socket) => socket.stats()),
    );
    return {
      socketCount,
      openSocketCount: openCount,
      reconnectCount,
      resyncCount: this.#resyncs.reduce(
        (sum, resync, index) => sum + (this.#slots[index] === undefined ? 0 : resync.startCount),
        this.#retired.resyncCount,
      ),
      gapCount: this.slots.reduce((sum, slot) => sum + slot.sync.gapCount, this.#retired.gapCount),
      decodeErrorCount: this.#decoder.malformedCount + this.#slowMalformedCount + handlerErrorCount,
      protocolDriftCount:
        this.#decoder.driftCount +
        this.#decoder.foreignCount +
        this.#unknownCount +
        this.#refusedCount +
        this.#wrongTimeCount +
        this.slots.reduce((sum, slot) => sum + slot.brokenTouchCount, this.#retired.brokenTouchCount),
    };
  }

  // ------------------------------------------------------------ layout

  #addSlot(market: Market): MarketSlot {
    const { nativeSymbol, priceDecimals, qtyDecimals } = market.instrument;
    const { clock, random, logger } = this.#options;
    const index = this.#decoder.register(nativeSymbol, priceDecimals, qtyDecimals);
    const sync = new BookSync(market.book, () => this.#recover(index));
    const slot = new MarketSlot(market, sync);
    logResyncs(logger, market);
    this.#slots[index] = slot;
    this.#slotByDepthName.set(depthStreamName(slot), index);
    this.#resyncs[index] = new Resync<never, Snapshot>({
      clock,
      random,
      backoff: RESYNC_BACKOFF,
      // The diffs wait decoded in the book sync, which bounds them by levels too.
      maxBufferedFrames: 0,
      escalateAfter: ESCALATE_AFTER,
      load: () => this.#loadSnapshot(index, slot),
      apply: (snapshot) => this.#applySnapshot(index, snapshot),
      onEscalate: (attemptCount) => {
        logger.warn("venuetwo.resync-slow", { symbol: market.instrument.symbol, attemptCount });
        this.#resubscribeDepth(slot);
      },
    });
    return slot;
  }

  /** The streams of one market stay together, on the newest connection of their group that has room for all. */
  #place(slot: MarketSlot, group: StreamGroup): void {
    const specs = group.specsOf(slot);
    const withRoom = this.#shards.findLast(
      (shard) =>
        shard.group === group && shard.socket.stats().subscriptionCount + specs.length <= MAX_STREAMS_PER_SOCKET,
    );
    const shard = withRoom ?? this.#createShard(group);
    shard.slots.push(slot);
    for (const { spec, bind } of specs) bind(shard.socket.subscribe(spec));
  }

  #createShard(group: StreamGroup): Shard {
    const { clock, random, logger, connector, budget } = this.#options;
    const slots: MarketSlot[] = [];
    const socket = new PersistentSocket({
      name: `venuetwo.${group.name}.${this.#shards.length}`,
      url: group.url,
      clock,
      random,
      logger,
      connector,
      budget: {
        tryOpen: () => this.#shallow.yieldMs() || budget.tryOpen(this.#shallow.hasMarkets ? CONNECTS_KEPT : 0),
        closed: () => budget.closed(),
        hold: (ms) => budget.hold(ms),
      },
      heartbeat: { pingText: null, everyMs: PING_EVERY_MS, idleMs: IDLE_SOCKET_MS },
      protocol: this.#protocol,
      pacers: () => [new MessagePacer(clock, MAX_MESSAGES_PER_SECOND, 1_000)],
      maxSubscriptions: MAX_STREAMS_PER_SOCKET,
      rotateAfterMs: ROTATE_AFTER_MS,
      handlers: {
        onFrame: (data, tsRecvNs, linkId) => this.#onFrame(data, tsRecvNs, linkId, socket),
        onDown: () => {
          for (const slot of slots) this.#onDown(slot, group.hasDepth);
        },
        onSilent: (name) => this.#onSilent(name),
        onQuarantined: (name) => logger.error("venuetwo.stream-quarantined", { name: name }),
      },
    });
    const shard: Shard = { group, socket, slots };
    this.#shards.push(shard);
    if (this.#isStarted) socket.start();
    return shard;
  }

  #request(method: "SUBSCRIBE" | "UNSUBSCRIBE", names: readonly string[]): string {
    const id = this.#nextRequestId++;
    if (method === "SUBSCRIBE") {
      if (this.#requests.size >= MAX_OPEN_REQUESTS) {
        for (const oldest of this.#requests.keys()) {
          this.#requests.delete(oldest);
          break;
        }
      }
      this.#requests.set(id, names);
    }
    return JSON.stringify({ method, params: names, id });
  }

  // ------------------------------------------------------------ frames

  #onFrame(data: Buffer, tsRecvNs: number, linkId: number, socket: PersistentSocket): void {
    const decoder = this.#decoder;
    const kind = decoder.decodeFrame(data, 0, data.length);
    if (kind === FRAME_OTHER) {
      this.#onSlowFrame(data, tsRecvNs, linkId);
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
    if (kind === FRAME_DEPTH) {
      const wasLive = slot.sync.isLive;
      const lateNs = this.#lateNs(slot, frame.tsEventMs);
      const result = slot.onDiff(frame, tsRecvNs, linkId, linkId !== socket.primaryLinkId, lateNs);
      if (result === DIFF_BROKEN) this.#dropped("depth", "IMPOSSIBLE", slot.market.instrument.symbol);
      if (!wasLive) this.#afterDiffWhileSyncing(frame.slot, slot);
    } else if (kind === FRAME_BOOK_TICKER) {
      const isTaken = slot.onTouch(frame, tsRecvNs, linkId, this.#lateNs(slot, frame.tsEventMs));
      if (!isTaken) this.#dropped("bookTicker", "IMPOSSIBLE", slot.market.instrument.symbol);
    } else if (kind === FRAME_TRADE) {
      slot.trade?.alive(tsRecvNs, linkId);
      const { clock, clockOffset } = this.#options;
      if (!isTradeTime(frame.tsTransactionMs, clockOffset, clock.wallMs())) {
        this.#wrongTimeCount++;
        this.#dropped("trade", "WRONG_TIME", slot.market.instrument.symbol);
        return;
      }
      this.tradeCount++;
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
    } else if (kind === FRAME_DRIFT) {
      // Once per break: a drift that stays would otherwise log each frame.
      if (slot.sync.isLive)
        this.#options.logger.error("venuetwo.protocol-drift", { symbol: slot.market.instrument.symbol });
      this.#dropped("", "DRIFT", slot.market.instrument.symbol);
      slot.sync.invalidate(INVALID_DECODE);
      this.#onDrift(frame.slot);
    }
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
    this.#recover(index);
  }

  /** A frame held up on its way longer than a book may be old proves only what was true when it left. */
  #lateNs({ market }: MarketSlot, tsEventMs: number): number {
    const { clock, clockOffset } = this.#options;
    const nowMs = clock.wallMs();
    clockOffset.addEvent(tsEventMs, nowMs);
    return clockOffset.lateMs(tsEventMs, nowMs, market.maxBookAgeMs) * 1e6;
  }

  /** For figures that are ordered by their time. */
  #latestMs(tsEventMs: number): number {
    const { clock, clockOffset } = this.#options;
    const nowMs = clock.wallMs();
    if (!clockOffset.isPlausible(tsEventMs, nowMs)) this.#wrongTimeCount++;
    return clockOffset.latestMs(nowMs);
  }

  /** The diff may have completed a waiting snapshot, or be the first sign that the stream runs. */
  #afterDiffWhileSyncing(index: number, slot: MarketSlot): void {
    if (slot.sync.isLive) {
      this.#resyncs[index]?.cancel();
      this.#shallow.follow(index);
    } else this.#startSync(index);
  }

  #onSlowFrame(data: Buffer, tsRecvNs: number, linkId: number): void {
    for (const slow of decodeSlowFrame(data.toString("utf8"))) {
      switch (slow.kind) {
        case "markPrice":
          this.#slotOf(slow.mark.s)?.onMarkPrice(slow.mark, tsRecvNs, linkId, this.#latestMs(slow.mark.E));
          break;
        case "ticker":
          this.#slotOf(slow.ticker.s)?.onTicker(slow.ticker, tsRecvNs, linkId, this.#latestMs(slow.ticker.E));
          break;
        case "acknowledged":
          this.#onAcknowledged(slow.id);
          break;
        case "refused":
          this.#refusedCount++;
          if (slow.id !== null) this.#requests.delete(slow.id);
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
  }

  #slotOf(nativeSymbol: string): MarketSlot | undefined {
    return this.#slots[this.#decoder.symbols.slotOf(nativeSymbol)];
  }

  // ------------------------------------------------------------ recovery

  /** The book has been invalidated already. A snapshot that does not fit the grid either is not asked for in circles. */
  #onDrift(index: number): void {
    if (this.#drift.isFirst(index)) {
      this.#options.onDrift?.();
      this.#recover(index);
      return;
    }
    const slot = this.#slots[index];
    if (slot === undefined) return;
    this.#snapshots.drop(slot, "whole");
    // It waits for the pause to end: a market that falls quiet has no diff to begin it then.
    this.#startSync(index);
  }

  /** The diffs flow from now on: a snapshot taken after this can be covered. */
  #onAcknowledged(id: number): void {
    const names = this.#requests.get(id);
    this.#requests.delete(id);
    for (const name of names ?? []) {
      const index = this.#slotByDepthName.get(name);
      if (index !== undefined && this.#slots[index]?.sync.isLive === false) this.#startSync(index);
    }
  }

  #onDown(slot: MarketSlot, hasDepth: boolean): void {
    // In the split layout the socket without book data takes no book down with it.
    if (!hasDepth) return;
    const index = this.#slots.indexOf(slot);
    this.#resyncs[index]?.cancel();
    this.#snapshots.drop(slot, "whole");
    slot.onDown(INVALID_DISCONNECTED);
    this.#shallow.follow(index);
  }

  #onSilent(name: string): void {
    const index = this.#slotByDepthName.get(name);
    const slot = index === undefined ? undefined : this.#slots[index];
    if (index === undefined || slot === undefined) return;
    slot.sync.invalidate(INVALID_PROBE_MISMATCH);
    this.#recover(index);
  }

  /** The book has been invalidated already. */
  #recover(index: number): void {
    this.#slots[index]?.market.stats.breakSampling();
    this.#shallow.follow(index);
    this.#startSync(index);
  }

  #startSync(index: number): void {
    const resync = this.#resyncs[index];
    if (resync === undefined || resync.isRunning) return;
    this.#slots[index]?.sync.beginSync();
    resync.start();
  }

  async #loadSnapshot(index: number, slot: MarketSlot): Promise<SnapshotAnswer> {
    const pauseMs = this.#drift.leftMs(index);
    if (pauseMs > 0) return new LoadRefused(pauseMs);
    // One waits for a diff to cover it: give it the time, then confirm.
    if (slot.sync.isWaiting) await delay(this.#options.clock, CONFIRM_AFTER_MS);
    if (slot.sync.isLive) return null;
    const answer = await this.#snapshots.load(slot, "whole");
    if (answer === null) this.#resyncGoesOn(slot, "NO_ANSWER");
    else if (answer instanceof LoadRefused) this.#resyncGoesOn(slot, "NOT_ASKED");
    return answer;
  }

  #resyncGoesOn({ market }: MarketSlot, reason: string): void {
    const { symbol, venue } = market.instrument;
    this.#options.logger.debug?.("book.resync-goes-on", { venue, symbol, reason });
  }

  #applySnapshot(index: number, { body, askedNs }: Snapshot): "synced" | "retry" {
    const slot = this.#slots[index];
    if (slot === undefined) return "retry";
    const kind = this.#decoder.decodeSnapshot(body, 0, body.length, index);
    if (kind !== FRAME_DEPTH) {
      this.#options.logger.warn("venuetwo.bad-snapshot", { symbol: slot.market.instrument.symbol });
      if (kind === FRAME_DRIFT) this.#onDrift(index);
      return "retry";
    }
    const result = slot.sync.onSnapshot(this.#decoder.frame, askedNs);
    this.#shallow.follow(index);
    if (result !== "synced") this.#resyncGoesOn(slot, result);
    return result === "synced" && slot.market.book.state === BOOK_LIVE ? "synced" : "retry";
  }

  #resubscribeDepth(slot: MarketSlot): void {
    const subscription = slot.depth;
    if (subscription === null) return;
    for (const { socket, slots, group } of this.#shards) {
      if (!group.hasDepth || !slots.includes(slot)) continue;
      socket.unsubscribe(subscription.spec.name);
      slot.depth = socket.subscribe(subscription.spec);
    }
  }
}

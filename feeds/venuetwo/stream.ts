/**
 * Market data sockets of venuetwo: which streams go over which connection, frames to their markets,
 * and the recovery of a book that lost its chain. Only the shell: the decisions are in book-sync.ts
 * (chain), quiet-probe.ts (silence), feeds/shared/socket.ts (connections).
 *
 * Invariant: a book is LIVE only on a chain of diffs from an open connection; a lost connection or a
 * gap invalidates it before anything is repaired, and only that book is repaired.
 */
import { type Clock, delay } from "../../engine/domain/clock.js";
import type { Logger } from "../../engine/domain/logger.js";
import type { Random } from "../../engine/domain/random.js";
import { BOOK_LIVE, INVALID_DECODE, INVALID_DISCONNECTED, INVALID_PROBE_MISMATCH } from "../../engine/market/book.js";
import type { Market } from "../../engine/market/market.js";
import type { ClockOffset } from "../shared/clock-offset.js";
import { type ConnectionBudget, MessagePacer } from "../shared/connection-budget.js";
import type { Connector } from "../shared/connector.js";
import type { VenueHttp } from "../shared/http.js";
import type { SubscribeProtocol } from "../shared/link.js";
import { LoadRefused, Resync } from "../shared/resync.js";
import { PersistentSocket } from "../shared/socket.js";
import { BookSync } from "./book-sync.js";
import { VenuetwoDecoder } from "./decode.js";
import { decodeSlowFrame } from "./decode-slow.js";
import { FRAME_BOOK_TICKER, FRAME_DEPTH, FRAME_DRIFT, FRAME_OTHER, FRAME_TRADE } from "./frame.js";
import {
  IDLE_SOCKET_MS,
  MAX_MESSAGES_PER_SECOND,
  MAX_STREAMS_PER_SOCKET,
  READ_TIMEOUT_MS,
  ROTATE_AFTER_MS,
  SNAPSHOT_LEVELS,
  SNAPSHOT_WEIGHT,
  STREAMS_PER_SUBSCRIBE,
} from "./limits.js";
import { MarketSlot } from "./market-slot.js";
import { QuietProbe } from "./quiet-probe.js";
import { depthStreamName, type StreamGroup, type StreamHostLayout, streamGroups } from "./stream-plan.js";

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
}

/** A snapshot that no diff covers is confirmed by a second one after this. */
const CONFIRM_AFTER_MS = 1_000;
const RESYNC_BACKOFF = { baseMs: 250, capMs: 5_000 } as const;
/** Failed tries after which the diff stream itself is doubted and subscribed anew. */
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
  /** By decoder slot. */
  readonly #slots: MarketSlot[] = [];
  readonly #resyncs: Resync<never, Buffer>[] = [];
  readonly #shards: Shard[] = [];
  /** Names by request id, so that an acknowledgement starts the books it is about. */
  readonly #requests = new Map<number, readonly string[]>();
  readonly #slotByDepthName = new Map<string, number>();
  readonly #groups: readonly StreamGroup[];
  #isStarted = false;
  #nextRequestId = 1;
  #slowMalformedCount = 0;
  #unknownCount = 0;
  #refusedCount = 0;
  tradeCount = 0;

  constructor(options: MarketStreamOptions, markets: readonly Market[]) {
    this.#options = options;
    this.#probe = new QuietProbe(options.http, options.clock);
    this.#protocol = {
      subscribe: (names) => this.#request("SUBSCRIBE", names),
      unsubscribe: (names) => this.#request("UNSUBSCRIBE", names),
      maxNamesPerFrame: STREAMS_PER_SUBSCRIBE,
    };
    this.#groups = streamGroups(options.wsUrl, options.layout, this.#probe);
    this.add(markets);
  }

  /** Adds markets, listed later than the others; their streams go where there is room. */
  add(markets: readonly Market[]): void {
    for (const market of markets) {
      const slot = this.#addSlot(market);
      for (const group of this.#groups) this.#place(slot, group);
    }
  }

  get slots(): readonly MarketSlot[] {
    return this.#slots;
  }

  start(): void {
    this.#isStarted = true;
    for (const { socket } of this.#shards) socket.start();
  }

  stop(): void {
    for (const resync of this.#resyncs) resync.cancel();
    for (const { socket } of this.#shards) socket.stop();
    for (const slot of this.#slots) slot.onDown(INVALID_DISCONNECTED);
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
    return {
      socketCount: this.#shards.length,
      openSocketCount,
      reconnectCount,
      resyncCount: this.#resyncs.reduce((sum, resync) => sum + resync.startCount, 0),
      gapCount: this.#slots.reduce((sum, slot) => sum + slot.sync.gapCount, 0),
      decodeErrorCount: this.#decoder.malformedCount + this.#slowMalformedCount + handlerErrorCount,
      protocolDriftCount:
        this.#decoder.driftCount +
        this.#decoder.foreignCount +
        this.#unknownCount +
        this.#refusedCount +
        this.#slots.reduce((sum, slot) => sum + slot.brokenTouchCount, 0),
    };
  }

  // ------------------------------------------------------------ layout

  #addSlot(market: Market): MarketSlot {
    const { nativeSymbol, priceDecimals, qtyDecimals } = market.instrument;
    const { clock, random, logger } = this.#options;
    const index = this.#decoder.register(nativeSymbol, priceDecimals, qtyDecimals);
    const sync = new BookSync(market.book, () => this.#recover(index));
    const slot = new MarketSlot(market, sync);
    this.#slots[index] = slot;
    this.#slotByDepthName.set(depthStreamName(slot), index);
    this.#resyncs[index] = new Resync<never, Buffer>({
      clock,
      random,
      backoff: RESYNC_BACKOFF,
      // The diffs wait decoded in the book sync, which bounds them by levels too.
      maxBufferedFrames: 0,
      escalateAfter: ESCALATE_AFTER,
      load: () => this.#loadSnapshot(slot),
      apply: (body) => this.#applySnapshot(index, body),
      onEscalate: (attemptCount) => {
        logger.warn("venuetwo.resync-slow", { symbol: market.instrument.symbol, attemptCount });
        this.#resubscribeDepth(slot);
      },
    });
    return slot;
  }

  /** The streams of one market stay together, on the newest connection of their group if it has room for all. */
  #place(slot: MarketSlot, group: StreamGroup): void {
    const specs = group.specsOf(slot);
    const newest = this.#shards.findLast((shard) => shard.group === group);
    const hasRoom =
      newest !== undefined && newest.socket.stats().subscriptionCount + specs.length <= MAX_STREAMS_PER_SOCKET;
    const shard = hasRoom ? newest : this.#createShard(group);
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
      budget,
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
    const frame = decoder.frame;
    const slot = this.#slots[frame.slot];
    if (slot === undefined) return;
    if (kind === FRAME_DEPTH) {
      const wasLive = slot.sync.isLive;
      slot.onDiff(frame, tsRecvNs, linkId, linkId !== socket.primaryLinkId);
      if (!wasLive) this.#afterDiffWhileSyncing(frame.slot, slot);
      this.#options.clockOffset.addEvent(frame.tsEventMs, this.#options.clock.wallMs());
    } else if (kind === FRAME_BOOK_TICKER) {
      slot.onTouch(frame, tsRecvNs, linkId);
    } else if (kind === FRAME_TRADE) {
      slot.trade?.alive(tsRecvNs, linkId);
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
      slot.sync.invalidate(INVALID_DECODE);
      this.#recover(frame.slot);
    }
  }

  /** The diff may have completed a waiting snapshot, or be the first sign that the stream runs. */
  #afterDiffWhileSyncing(index: number, slot: MarketSlot): void {
    if (slot.sync.isLive) this.#resyncs[index]?.cancel();
    else this.#startSync(index);
  }

  #onSlowFrame(data: Buffer, tsRecvNs: number, linkId: number): void {
    for (const slow of decodeSlowFrame(data.toString("utf8"))) {
      switch (slow.kind) {
        case "markPrice":
          this.#slotOf(slow.mark.s)?.onMarkPrice(slow.mark, tsRecvNs, linkId);
          break;
        case "ticker":
          this.#slotOf(slow.ticker.s)?.onTicker(slow.ticker, tsRecvNs, linkId);
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
          break;
        case "unknown":
          this.#unknownCount++;
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
    this.#resyncs[this.#slots.indexOf(slot)]?.cancel();
    slot.onDown(INVALID_DISCONNECTED);
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
    this.#startSync(index);
  }

  #startSync(index: number): void {
    const resync = this.#resyncs[index];
    if (resync === undefined || resync.isRunning) return;
    this.#slots[index]?.sync.beginSync();
    resync.start();
  }

  async #loadSnapshot(slot: MarketSlot): Promise<Buffer | LoadRefused | null> {
    const { clock, http } = this.#options;
    // One waits for a diff to cover it: give it the time, then confirm.
    if (slot.sync.isWaiting) await delay(clock, CONFIRM_AFTER_MS);
    if (slot.sync.isLive) return null;
    const symbol = encodeURIComponent(slot.market.instrument.nativeSymbol);
    const result = await http.request({
      method: "GET",
      path: `/fapi/v1/depth?symbol=${symbol}&limit=${SNAPSHOT_LEVELS}`,
      headers: {},
      body: null,
      lane: "reconcile",
      weight: SNAPSHOT_WEIGHT,
      timeoutMs: READ_TIMEOUT_MS,
      account: null,
      accountWeight: 0,
    });
    if (result.kind === "notSent" && result.retryAfterMs !== null) return new LoadRefused(result.retryAfterMs);
    return result.kind === "response" && result.status === 200 ? Buffer.from(result.body, "utf8") : null;
  }

  #applySnapshot(index: number, body: Buffer): "synced" | "retry" {
    const slot = this.#slots[index];
    if (slot === undefined) return "retry";
    if (this.#decoder.decodeSnapshot(body, 0, body.length, index) !== FRAME_DEPTH) {
      this.#options.logger.warn("venuetwo.bad-snapshot", { symbol: slot.market.instrument.symbol });
      return "retry";
    }
    const result = slot.sync.onSnapshot(this.#decoder.frame, this.#options.clock.monoNs());
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

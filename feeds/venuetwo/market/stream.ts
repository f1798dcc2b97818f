/**
 * Market data sockets of venuetwo: which streams go over which connection. Only the shell: frames go through
 * frame-router.ts, the decisions are in market/sync.ts (chain), book-recovery.ts (snapshots), quiet-probe.ts (silence),
 * feeds/shared/net/socket.ts (connections).
 *
 * Invariant: a book is LIVE only on a chain of diffs from an open connection; a lost connection or a
 * gap invalidates it before anything is repaired, and only that book is repaired.
 */
import type { Clock } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { Random } from "../../../engine/domain/random.js";
import { INVALID_DISCONNECTED, INVALID_PROBE_MISMATCH } from "../../../engine/market/book.js";
import type { Market } from "../../../engine/market/market.js";
import type { ClockOffset } from "../../shared/book/clock-offset.js";
import { logResyncs } from "../../shared/book/resync-log.js";
import { type ConnectionBudget, MessagePacer } from "../../shared/net/connection-budget.js";
import type { Connector } from "../../shared/net/connector.js";
import type { VenueHttp } from "../../shared/net/http.js";
import { PersistentSocket } from "../../shared/net/socket.js";
import { countSockets } from "../../shared/net/socket-counts.js";
import { BookRecovery } from "./book-recovery.js";
import { FrameRouter } from "./frame-router.js";
import { SubscribeRequests } from "./subscribe-requests.js";
import { BookSync } from "./sync.js";
import { VenuetwoDecoder } from "./decode.js";
import {
  IDLE_SOCKET_MS,
  MAX_MESSAGES_PER_SECOND,
  MAX_STREAMS_PER_SOCKET,
  ROTATE_AFTER_MS,
  SHALLOW_FROM_MARKETS,
} from "../rules/limits.js";
import { MarketSlot } from "./entry.js";
import { QuietProbe } from "./quiet-probe.js";
import { ShallowTier } from "./shallow-tier.js";
import { SnapshotQueue } from "./snapshot-queue.js";
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
  /** From so many markets on their best levels are streamed first (default SHALLOW_FROM_MARKETS). */
  readonly shallowFromMarkets?: number;
  /** Positions known to be open in the market, besides its readers: its snapshot comes first. */
  readonly positionsOf?: (market: Market) => number;
  /** Figures came that the listed grid cannot hold: the list may have changed. */
  readonly onDrift?: () => void;
}

/** Connects that the others leave to the best levels, so that these come back at once whatever the others have taken. */
const CONNECTS_KEPT = 2;
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
  /** By decoder slot; undefined where the market was removed. */
  readonly #slots: (MarketSlot | undefined)[] = [];
  readonly #shards: Shard[] = [];
  readonly #requests = new SubscribeRequests();
  readonly #slotByDepthName = new Map<string, number>();
  readonly #groups: readonly StreamGroup[];
  readonly #snapshots: SnapshotQueue;
  readonly #shallow: ShallowTier;
  readonly #recovery: BookRecovery;
  readonly #router: FrameRouter;
  /** Of removed markets, so that counters never fall. */
  #retired = { gapCount: 0, brokenTouchCount: 0 };
  #isStarted = false;

  constructor(options: MarketStreamOptions, markets: readonly Market[]) {
    this.#options = options;
    this.#probe = new QuietProbe(options.http, options.clock, this.#slots);
    const { clock, http, positionsOf = () => 0 } = options;
    this.#snapshots = new SnapshotQueue({
      clock,
      http,
      needOf: ({ market }) => positionsOf(market) + market.signal.listenerCount,
    });
    this.#groups = streamGroups(options.wsUrl, options.layout, this.#probe);
    this.#shallow = new ShallowTier({
      ...options,
      url: (this.#groups.find(({ hasDepth }) => hasDepth) as StreamGroup).url,
      decoder: this.#decoder,
      probe: this.#probe,
      snapshots: this.#snapshots,
      lateNs: (slot, tsEventMs) => this.#router.lateNs(slot, tsEventMs),
    });
    const parts = { decoder: this.#decoder, snapshots: this.#snapshots, shallow: this.#shallow };
    this.#recovery = new BookRecovery({ ...options, ...parts, resubscribe: (slot) => this.#resubscribeDepth(slot) });
    this.#router = new FrameRouter({
      ...options,
      decoder: this.#decoder,
      slots: this.#slots,
      recovery: this.#recovery,
      onAnswered: (id, isTaken) => this.#onAnswered(id, isTaken),
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
    if (slot === undefined) return;
    this.#slots[index] = undefined;
    this.#slotByDepthName.delete(depthStreamName(slot));
    this.#recovery.remove(index);
    this.#shallow.remove(index);
    for (const { group, socket, slots } of this.#shards) {
      const at = slots.indexOf(slot);
      if (at < 0) continue;
      slots.splice(at, 1);
      for (const { spec } of group.specsOf(slot)) socket.unsubscribe(spec.name);
    }
    this.#retired.gapCount += slot.sync.gapCount;
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
    this.#recovery.stop();
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
      resyncCount: this.#recovery.startCount,
      gapCount: this.slots.reduce((sum, slot) => sum + slot.sync.gapCount, this.#retired.gapCount),
      decodeErrorCount: this.#router.decodeErrorCount + handlerErrorCount,
      protocolDriftCount:
        this.#router.protocolDriftCount +
        this.slots.reduce((sum, slot) => sum + slot.brokenTouchCount, this.#retired.brokenTouchCount),
    };
  }

  // ------------------------------------------------------------ layout

  #addSlot(market: Market): MarketSlot {
    const { nativeSymbol, priceDecimals, qtyDecimals } = market.instrument;
    const index = this.#decoder.register(nativeSymbol, priceDecimals, qtyDecimals);
    const sync = new BookSync(market.book, () => this.#recovery.recover(index));
    const slot = new MarketSlot(market, sync);
    logResyncs(this.#options.logger, market);
    this.#slots[index] = slot;
    this.#slotByDepthName.set(depthStreamName(slot), index);
    this.#recovery.add(index, slot);
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
      protocol: this.#requests.protocol,
      pacers: () => [new MessagePacer(clock, MAX_MESSAGES_PER_SECOND, 1_000)],
      maxSubscriptions: MAX_STREAMS_PER_SOCKET,
      rotateAfterMs: ROTATE_AFTER_MS,
      handlers: {
        onFrame: (data, tsRecvNs, linkId) => this.#router.onFrame(data, tsRecvNs, linkId, socket),
        onDown: () => {
          // In the split layout the socket without book data takes no book down with it.
          if (group.hasDepth) for (const slot of slots) this.#recovery.down(this.#slots.indexOf(slot));
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

  /** The diffs flow from now on: a snapshot taken after this can be covered. */
  #onAnswered(id: number, isTaken: boolean): void {
    for (const name of this.#requests.answered(id)) {
      const index = isTaken ? this.#slotByDepthName.get(name) : undefined;
      if (index !== undefined && this.#slots[index]?.sync.isLive === false) this.#recovery.start(index);
    }
  }

  #onSilent(name: string): void {
    const index = this.#slotByDepthName.get(name);
    const slot = index === undefined ? undefined : this.#slots[index];
    if (index === undefined || slot === undefined) return;
    slot.sync.invalidate(INVALID_PROBE_MISMATCH);
    this.#recovery.recover(index);
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

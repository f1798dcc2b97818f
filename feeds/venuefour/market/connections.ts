/**
 * The sockets of the market stream: which carries what (shard.ts), and whether the venue took what was asked
 * (stream-slot.ts). Frames, silence and losses are handed on; what they mean is stream.ts.
 *
 * Invariants: never more than twenty subscriptions per channel on one connection; a subscription that the venue does
 * not answer is not asked for again before its retry, so that one bad name never costs a connection.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { Random } from "../../../engine/domain/random.js";
import { type ConnectionBudget, MessagePacer } from "../../shared/net/connection-budget.js";
import type { Connector } from "../../shared/net/connector.js";
import type { SubscribeProtocol } from "../../shared/net/paced-writer.js";
import { PersistentSocket } from "../../shared/net/socket.js";
import type { SocketStats } from "../../shared/net/socket-options.js";
import {
  PING_EVERY_MS,
  PING_TEXT,
  PRICES_LIVENESS_MS,
  ROTATE_AFTER_MS,
  SOCKET_IDLE_MS,
  SUBSCRIPTIONS_PER_CHANNEL,
} from "../rules/limits.js";
import { CHANNELS_PER_MARKET, Shard } from "./shard.js";
import { keyOfName, slotKey, StreamSlot } from "./stream-slot.js";

/** How often unanswered subscriptions are looked for. */
const ECHO_CHECK_MS = 500;
/** Names of refused streams that the figures carry. */
const MAX_LISTED_NAMES = 50;

const SUBSCRIBE_PROTOCOL: SubscribeProtocol = {
  subscribe: (names) => `{"method":"subscribe","params":${names[0] ?? "{}"}}`,
  unsubscribe: (names) => `{"method":"unsubscribe","params":${names[0] ?? "{}"}}`,
  maxNamesPerFrame: 1,
};

export interface ConnectionsOptions {
  readonly wsUrl: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly connector: Connector;
  readonly budget: ConnectionBudget;
  readonly messagesPerSecond: number;
}

export interface ConnectionsHandlers {
  onFrame(data: Buffer, tsRecvNs: number, linkId: number): void;
  /** The connection is gone, with all it carried. */
  onDown(shard: Shard): void;
  /** The stream was found dead and is being asked for again. */
  onSilent(slot: StreamSlot): void;
  /** The name kills the connection whenever it is sent; it is given up. */
  onQuarantined(slot: StreamSlot): void;
}

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #handlers: ConnectionsHandlers;
  readonly #marketShards: Shard[] = [];
  readonly #slots = new Map<string, StreamSlot>();
  #pricesShard: Shard | null = null;
  #timer: TimerHandle | null = null;
  #silentRefusalCount = 0;

  constructor(options: ConnectionsOptions, handlers: ConnectionsHandlers) {
    this.#options = options;
    this.#handlers = handlers;
  }

  /** Are all that carry markets? */
  get isOpen(): boolean {
    return this.#marketShards.length > 0 && this.#marketShards.every((shard) => shard.socket.state === "open");
  }

  get socketStats(): readonly SocketStats[] {
    return this.#shards().map((shard) => shard.socket.stats());
  }

  /** Subscriptions that the venue left unanswered, ever. */
  get silentRefusalCount(): number {
    return this.#silentRefusalCount;
  }

  /** Of these, the ones that are so now. */
  get refusedStreams(): readonly string[] {
    const refused = [...this.#slots.values()].filter((slot) => slot.isRefused);
    return refused.slice(0, MAX_LISTED_NAMES).map((slot) => slotKey(slot.channel, slot.symbol));
  }

  /** Opens the connection of the prices and begins to look after the others. Once. */
  openPrices(): StreamSlot {
    const shard = this.#open("venuefour.prices", 1);
    this.#pricesShard = shard;
    const slot = new StreamSlot(shard.socket, "prices", null, { livenessMs: PRICES_LIVENESS_MS, probe: null });
    this.watch(shard, slot);
    this.#checkLater();
    return slot;
  }

  isPrices(shard: Shard): boolean {
    return shard === this.#pricesShard;
  }

  /** A connection that can carry one more market; opened if there is none. */
  shardWithRoom(): Shard {
    const known = this.#marketShards.find((shard) => shard.hasRoom);
    if (known !== undefined) return known;
    const shard = this.#open(
      `venuefour.market${this.#marketShards.length}`,
      SUBSCRIPTIONS_PER_CHANNEL * CHANNELS_PER_MARKET,
    );
    this.#marketShards.push(shard);
    return shard;
  }

  watch(shard: Shard, slot: StreamSlot): void {
    shard.slots.add(slot);
    this.#slots.set(slotKey(slot.channel, slot.symbol), slot);
  }

  /** Gives a stream up for good. */
  drop(shard: Shard, slot: StreamSlot): void {
    slot.dispose();
    shard.slots.delete(slot);
    this.#slots.delete(slotKey(slot.channel, slot.symbol));
  }

  /** The venue's answer to a subscription. */
  echoed(channel: string, symbol: string | null, tsRecvNs: number, linkId: number): void {
    this.#slots.get(slotKey(channel, symbol))?.echoed(tsRecvNs, linkId);
  }

  stop(): void {
    if (this.#timer !== null) this.#options.clock.clearTimer(this.#timer);
    for (const shard of this.#shards()) shard.socket.stop();
  }

  #shards(): readonly Shard[] {
    return this.#pricesShard === null ? this.#marketShards : [...this.#marketShards, this.#pricesShard];
  }

  #open(name: string, maxSubscriptions: number): Shard {
    const { wsUrl, clock, random, logger, connector, budget, messagesPerSecond } = this.#options;
    const socket: PersistentSocket = new PersistentSocket({
      name,
      url: wsUrl,
      clock,
      random,
      logger,
      connector,
      budget,
      protocol: SUBSCRIBE_PROTOCOL,
      pacers: () => [new MessagePacer(clock, messagesPerSecond, 1_000)],
      maxSubscriptions,
      heartbeat: { pingText: PING_TEXT, everyMs: PING_EVERY_MS, idleMs: SOCKET_IDLE_MS },
      rotateAfterMs: ROTATE_AFTER_MS,
      handlers: {
        onFrame: (data, tsRecvNs, linkId) => {
          shard.lastFrameNs = tsRecvNs;
          this.#handlers.onFrame(data, tsRecvNs, linkId);
        },
        onDown: () => {
          shard.down();
          this.#handlers.onDown(shard);
        },
        onSilent: (text) => this.#silent(text),
        onQuarantined: (text) => this.#quarantine(text),
        isStandbyReady: (linkId) => shard.isAnsweredOn(linkId),
      },
    });
    const shard = new Shard(socket);
    socket.start();
    return shard;
  }

  #checkLater(): void {
    this.#timer = this.#options.clock.setTimer(() => {
      for (const shard of this.#shards()) this.#check(shard);
      this.#checkLater();
    }, ECHO_CHECK_MS);
  }

  #check(shard: Shard): void {
    const nowNs = this.#options.clock.monoNs();
    const overdue: StreamSlot[] = [];
    let hasAnswer = false;
    for (const slot of shard.slots) {
      slot.retryIfDue(nowNs);
      if (slot.isOverdue(nowNs, shard.lastFrameNs)) overdue.push(slot);
      else hasAnswer ||= slot.isWanted && slot.isAnsweredOn(shard.socket.primaryLinkId);
    }
    if (overdue.length === 0) return;
    // One bad name is refused alone. A connection that answers no subscription is broken as a whole.
    if (!hasAnswer && new Set(overdue.map((slot) => slot.symbol)).size > 1) {
      shard.socket.reconnect("no subscription answered");
      return;
    }
    for (const slot of overdue) this.#refuse(slot, nowNs);
  }

  #refuse(slot: StreamSlot, nowNs: number): void {
    const { channel, symbol } = slot;
    this.#silentRefusalCount++;
    slot.refuse(nowNs);
    this.#options.logger.warn("venuefour.stream-refused", { channel, symbol, reason: "no answer" });
  }

  #silent(name: string): void {
    const slot = this.#slots.get(keyOfName(name));
    if (slot === undefined) return;
    slot.forgetAnswers();
    this.#handlers.onSilent(slot);
  }

  #quarantine(name: string): void {
    const slot = this.#slots.get(keyOfName(name));
    if (slot === undefined) return;
    // Its subscription stays: the socket asks for it again.
    slot.forgetAnswers();
    this.#handlers.onQuarantined(slot);
  }
}

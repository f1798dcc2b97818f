/**
 * The sockets of the market stream: which carries what, and how often each is looked after. Frames, silence and losses
 * are handed on; what they mean is stream.ts.
 *
 * Connections are not rotated: the venue states no life time, and 200 messages a minute would not carry the
 * subscriptions of a whole connection over to its successor while both run.
 */
import type { Clock, TimerHandle } from "../../../engine/domain/clock.js";
import type { Logger } from "../../../engine/domain/logger.js";
import type { Random } from "../../../engine/domain/random.js";
import { type ConnectionBudget, MessagePacer } from "../../shared/net/connection-budget.js";
import type { Connector } from "../../shared/net/connector.js";
import type { SubscribeProtocol } from "../../shared/net/paced-writer.js";
import { PersistentSocket } from "../../shared/net/socket.js";
import { countSockets, type SocketCounts } from "../../shared/net/socket-counts.js";
import {
  IDLE_SOCKET_MS,
  KEEPALIVE_EVERY_MS,
  MAX_SUBSCRIPTIONS_PER_SOCKET,
  MESSAGES_PER_SECOND,
} from "../rules/limits.js";
import { Shard } from "./shard.js";
import { CHANNELS_PER_MARKET, heightSpec } from "./stream-plan.js";

export interface ConnectionsOptions {
  readonly wsUrl: string;
  readonly connector: Connector;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly budget: ConnectionBudget;
  /** Client messages of the address, shared by all its connections. */
  readonly messages: MessagePacer;
}

export interface ConnectionsHandlers {
  onFrame(shard: Shard, data: Buffer, tsRecvNs: number, linkId: number): void;
  /** The connection is gone, with all it carried. */
  onDown(shard: Shard): void;
  /** The channel was found dead and is being asked for again. */
  onSilent(name: string): void;
  /** The message that asks for a channel, or gives it up, is written now. */
  onWritten(type: "subscribe" | "unsubscribe", name: string): void;
  /** The connection publishes, as far as is known: the silence of its books may be judged. */
  onSwept(shard: Shard, nowNs: number): void;
}

const SWEEP_EVERY_MS = 250;
/** Height and statistics. */
const CHANNELS_PER_SOCKET = 2;
const MARKETS_PER_SOCKET = Math.floor((MAX_SUBSCRIPTIONS_PER_SOCKET - CHANNELS_PER_SOCKET) / CHANNELS_PER_MARKET);

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #handlers: ConnectionsHandlers;
  readonly #protocol: SubscribeProtocol;
  readonly #shards: Shard[] = [];
  #sweepTimer: TimerHandle | null = null;

  constructor(options: ConnectionsOptions, handlers: ConnectionsHandlers) {
    this.#options = options;
    this.#handlers = handlers;
    this.#protocol = {
      subscribe: (names) => this.#write("subscribe", names[0] ?? ""),
      unsubscribe: (names) => this.#write("unsubscribe", names[0] ?? ""),
      maxNamesPerFrame: 1,
    };
  }

  /** Carries what is there once for all markets; absent before any market is streamed. */
  get first(): Shard | undefined {
    return this.#shards[0];
  }

  socketCounts(): SocketCounts {
    return countSockets(this.#shards.map(({ socket }) => socket.stats()));
  }

  /** A connection that can carry one more market; opened if there is none. */
  shardWithRoom(): Shard {
    const known = this.#shards.find((shard) => shard.slots.size < MARKETS_PER_SOCKET);
    if (known !== undefined) return known;
    const shard = this.#open(`venuethree.market.${this.#shards.length}`);
    this.#shards.push(shard);
    return shard;
  }

  /** Begins to pass on what the connections prove. Again does nothing. */
  keepProving(): void {
    if (this.#sweepTimer === null) this.#sweepLater();
  }

  stop(): void {
    if (this.#sweepTimer !== null) this.#options.clock.clearTimer(this.#sweepTimer);
    for (const { socket } of this.#shards) socket.stop();
  }

  #open(name: string): Shard {
    const { wsUrl, clock, random, logger, connector, budget, messages } = this.#options;
    const socket: PersistentSocket = new PersistentSocket({
      name,
      url: wsUrl,
      clock,
      random,
      logger,
      connector,
      budget,
      // A WebSocket ping is a sign of life enough for the venue, and its answer one for us.
      heartbeat: { pingText: null, everyMs: KEEPALIVE_EVERY_MS, idleMs: IDLE_SOCKET_MS },
      protocol: this.#protocol,
      pacers: () => [messages, new MessagePacer(clock, MESSAGES_PER_SECOND, 1_000)],
      maxSubscriptions: MAX_SUBSCRIPTIONS_PER_SOCKET,
      handlers: {
        onFrame: (data, tsRecvNs, linkId) => this.#handlers.onFrame(shard, data, tsRecvNs, linkId),
        onDown: () => {
          shard.down();
          this.#handlers.onDown(shard);
        },
        onSilent: (silent) => this.#handlers.onSilent(silent),
        onQuarantined: (channel) => logger.error("venuethree.channel-quarantined", { name: channel }),
      },
    });
    // What is asked for while it connects goes out in that order: the height first.
    socket.start();
    const shard = new Shard(socket, socket.subscribe(heightSpec()));
    return shard;
  }

  #write(type: "subscribe" | "unsubscribe", name: string): string {
    this.#handlers.onWritten(type, name);
    return JSON.stringify({ type, channel: name });
  }

  #sweepLater(): void {
    const { clock } = this.#options;
    this.#sweepTimer = clock.setTimer(() => {
      const nowNs = clock.monoNs();
      for (const shard of this.#shards) {
        shard.sweep(nowNs);
        if (shard.isPublishing(nowNs)) this.#handlers.onSwept(shard, nowNs);
      }
      this.#sweepLater();
    }, SWEEP_EVERY_MS);
  }
}
